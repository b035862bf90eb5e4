#include "grep_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/file.h"
#include "text/truncate.h"

enum {
    ALONE = 64, // so many files cost less than starting threads
    THREADS_MAX = 4,
    BATCHES = 32,
    BATCH_FILES = 64,
};

// Files of one folder, and what was found in them.
struct batch {
    int folder;       // a descriptor of its own
    struct buf paths; // each with a NUL behind it
    size_t len;
    bool done;

    struct grep found; // rows and numbers only
    struct grep_counts counts;
    enum pi_status status;
    struct pi_error err;
};

struct worker {
    struct grep_pool *pool;
    struct grep_file file;
    pthread_t thread;
};

// Batches form a ring: the walker adds at its end, workers take them in order, and the
// walker merges from its beginning those that are done.
struct grep_pool {
    struct grep_file *into;
    struct pi_error *err;
    enum pi_status status;
    size_t alone; // files searched before there were threads
    struct worker workers[THREADS_MAX];
    size_t threads;
    size_t merged;    // batches; the walker's
    atomic_bool stop; // nothing more is wanted

    pthread_mutex_t lock;
    pthread_cond_t more_work, batch_done;
    bool waiting;        // the walker, for a batch
    size_t added, taken; // batches
    bool all_added;
    struct batch ring[BATCHES];
};

static void batch_finish(struct batch *b)
{
    file_close(&b->folder);
    buf_finish(&b->paths);
    grep_finish(&b->found);
    *b = (struct batch){.folder = -1};
}

/* ------------------------------------------------------------------------- workers -- */

// Searches the files of a batch until there is nothing to gain.
static enum pi_status search_batch(struct grep_pool *p, struct grep_file *f,
                                   const struct batch *b, struct pi_error *err)
{
    enum pi_status st = PI_OK;
    const char *path = buf_cstr(&b->paths);
    for (size_t i = 0; i < b->len && st == PI_OK; i++) {
        const char *slash = strrchr(path, '/');
        if (atomic_load_explicit(&p->stop, memory_order_relaxed) ||
            grep_file_is_over(f)) {
            break;
        }
        st = grep_file_at(f, b->folder, slash ? slash + 1 : path, path, err);
        path += strlen(path) + 1;
    }
    return st;
}

static void work_on(struct worker *w, struct batch *b)
{
    struct grep_file *f = &w->file;
    b->status = search_batch(w->pool, f, b, &b->err);
    grep_take(&b->found, &f->grep);
    b->counts = f->counts;
    f->counts = (struct grep_counts){0};
}

static void *work(void *data)
{
    struct worker *w = data;
    struct grep_pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->taken == p->added && !p->all_added) {
            pthread_cond_wait(&p->more_work, &p->lock);
        }
        if (p->taken == p->added) {
            break;
        }
        struct batch *b = &p->ring[p->taken++ % BATCHES];
        pthread_mutex_unlock(&p->lock);
        work_on(w, b);
        pthread_mutex_lock(&p->lock);
        b->done = true;
        if (p->waiting) {
            pthread_cond_signal(&p->batch_done);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// Signals belong to the program around us.
static bool start_worker(struct grep_pool *p, struct worker *w)
{
    sigset_t all, before;
    w->pool = p;
    if (grep_share(&w->file.grep, &p->into->grep, NULL) != PI_OK) {
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        grep_file_finish(&w->file);
    }
    return !failed;
}

// With one processor, and where no thread can be had, the walker searches alone.
static void start_workers(struct grep_pool *p)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors < 2 ? 0 : (size_t)processors;
    wanted = wanted > THREADS_MAX ? THREADS_MAX : wanted;
    while (p->threads < wanted && start_worker(p, &p->workers[p->threads])) {
        p->threads++;
    }
}

/* -------------------------------------------------------------------------- walker -- */

static void fail(struct grep_pool *p, enum pi_status status, const struct pi_error *err)
{
    if (p->status == PI_OK && status != PI_OK) {
        p->status = status;
        if (p->err && err) {
            *p->err = *err;
        }
    }
}

static bool is_over(const struct grep_pool *p)
{
    return p->status != PI_OK || grep_file_is_over(p->into);
}

// Whether all rows of the batch are wanted.
static bool fits(const struct grep_pool *p, const struct batch *b)
{
    const struct grep *g = &p->into->grep;
    return !b->found.more && g->matches + b->found.matches <= g->limit &&
           g->rows.text.len + b->found.rows.text.len <= TRUNCATE_MAX_BYTES;
}

// Where the limits end the search is found out by searching the batch again in the end
// of the rows; this happens once.
static void merge(struct grep_pool *p, struct batch *b)
{
    struct grep_file *into = p->into;
    if (is_over(p)) {
        return;
    }
    if (b->status != PI_OK) {
        fail(p, b->status, &b->err);
    } else if (fits(p, b)) {
        grep_append(&into->grep, &b->found);
        into->counts.files += b->counts.files;
        into->counts.binary += b->counts.binary;
        into->counts.large += b->counts.large;
        into->counts.unreadable += b->counts.unreadable;
    } else {
        struct pi_error err;
        fail(p, search_batch(p, into, b, &err), &err);
    }
}

// Merges the batches that are done, at least `least` of them.
static void merge_done(struct grep_pool *p, size_t least)
{
    for (; p->merged < p->added; p->merged++) {
        struct batch *b = &p->ring[p->merged % BATCHES];
        pthread_mutex_lock(&p->lock);
        p->waiting = true;
        while (!b->done && least > 0) {
            pthread_cond_wait(&p->batch_done, &p->lock);
        }
        p->waiting = false;
        bool done = b->done;
        pthread_mutex_unlock(&p->lock);
        if (!done) {
            return;
        }
        merge(p, b);
        batch_finish(b);
        least -= least > 0;
        if (is_over(p)) {
            atomic_store_explicit(&p->stop, true, memory_order_relaxed);
        }
    }
}

// The batch that is being filled is the one behind those that were added.
static struct batch *open_batch(struct grep_pool *p)
{
    return &p->ring[p->added % BATCHES];
}

static void publish(struct grep_pool *p)
{
    if (open_batch(p)->len == 0) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->added++;
    pthread_cond_signal(&p->more_work);
    pthread_mutex_unlock(&p->lock);
    // One place stays free for the batch that is being filled.
    merge_done(p, p->added - p->merged == BATCHES ? 1 : 0);
}

static bool same_folder(const struct batch *b, const struct walk_entry *entry)
{
    size_t n = strlen(entry->path) - strlen(entry->name);
    const char *first = buf_cstr(&b->paths);
    const char *slash = strrchr(first, '/');
    return n == (slash ? (size_t)(slash - first) + 1 : 0) &&
           memcmp(first, entry->path, n) == 0;
}

static void add_to_batch(struct grep_pool *p, const struct walk_entry *entry)
{
    struct batch *b = open_batch(p);
    if (b->len == BATCH_FILES || (b->len > 0 && !same_folder(b, entry))) {
        publish(p);
        b = open_batch(p);
    }
    if (b->len == 0) {
        b->folder = fcntl(entry->folder, F_DUPFD_CLOEXEC, 0);
    }
    buf_add(&b->paths, entry->path, strlen(entry->path) + 1);
    if (b->folder < 0 || !buf_ok(&b->paths)) {
        struct pi_error err;
        fail(p,
             b->folder < 0 ? error_errno(&err, errno, "cannot search the folder")
                           : error_nomem(&err),
             &err);
        return;
    }
    b->len++;
}

bool grep_pool_add(struct grep_pool *p, const struct walk_entry *entry)
{
    if (p->threads == 0) {
        struct pi_error err;
        fail(p, grep_file_at(p->into, entry->folder, entry->name, entry->path, &err),
             &err);
        if (++p->alone == ALONE && !is_over(p)) {
            start_workers(p);
        }
    } else {
        add_to_batch(p, entry);
    }
    return !is_over(p);
}

enum pi_status grep_pool_create(struct grep_pool **out, struct grep_file *into,
                                struct pi_error *err)
{
    struct grep_pool *p = calloc(1, sizeof *p);
    if (!p) {
        return error_nomem(err);
    }
    p->into = into;
    p->err = err;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more_work, NULL);
    pthread_cond_init(&p->batch_done, NULL);
    for (size_t i = 0; i < BATCHES; i++) {
        p->ring[i].folder = -1;
    }
    *out = p;
    return PI_OK;
}

enum pi_status grep_pool_end(struct grep_pool *p)
{
    if (!p) {
        return PI_OK;
    }
    if (!is_over(p)) {
        publish(p);
    }
    merge_done(p, p->added - p->merged);
    pthread_mutex_lock(&p->lock);
    p->all_added = true;
    pthread_cond_broadcast(&p->more_work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->threads; i++) {
        pthread_join(p->workers[i].thread, NULL);
        grep_file_finish(&p->workers[i].file);
    }
    for (size_t i = 0; i < BATCHES; i++) {
        batch_finish(&p->ring[i]);
    }
    enum pi_status status = p->status;
    pthread_cond_destroy(&p->batch_done);
    pthread_cond_destroy(&p->more_work);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return status;
}
