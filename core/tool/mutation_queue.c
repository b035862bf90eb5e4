#include "tool/mutation_queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// The line of one file; it exists while somebody stands in it.
struct line {
    char *key;
    struct mutation_ticket *first, *last;
    struct line *next;
};

struct mutation_ticket {
    struct line *line;
    struct mutation_ticket *prev, *next;
    int turn_fd; // an eventfd, readable once the ticket has become the first
};

// The one lock of the process: two sessions in one editor must not write one file at
// once. It is held for look-ups only, never while somebody waits.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines; // few: one for each file that is being changed

static struct line *find_line(const char *key)
{
    struct line *l = lines;
    while (l && strcmp(l->key, key) != 0) {
        l = l->next;
    }
    return l;
}

static struct line *add_line(const char *key)
{
    struct line *l = calloc(1, sizeof *l);
    if (l && !(l->key = strdup(key))) {
        free(l);
        l = NULL;
    }
    if (l) {
        l->next = lines;
        lines = l;
    }
    return l;
}

static void remove_line(struct line *gone)
{
    struct line **at = &lines;
    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    free(gone->key);
    free(gone);
}

static void append(struct line *l, struct mutation_ticket *t)
{
    t->line = l;
    t->prev = l->last;
    if (l->last) {
        l->last->next = t;
    } else {
        l->first = t;
    }
    l->last = t;
}

static void call(struct mutation_ticket *t)
{
    const uint64_t one = 1;
    // Cannot fail: written once, the counter has room.
    ssize_t written = write(t->turn_fd, &one, sizeof one);
    (void)written;
}

enum pi_status mutation_enter(struct mutation_ticket **out, const char *key,
                              struct pi_error *err)
{
    struct mutation_ticket *t = calloc(1, sizeof *t);
    if (!t) {
        return error_nomem(err);
    }
    t->turn_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->turn_fd < 0) {
        enum pi_status status = error_errno(err, errno, "cannot wait for a file");
        free(t);
        return status;
    }
    pthread_mutex_lock(&lock);
    struct line *l = find_line(key);
    l = l ? l : add_line(key);
    if (l) {
        append(l, t);
    }
    pthread_mutex_unlock(&lock);
    if (!l) {
        close(t->turn_fd);
        free(t);
        return error_nomem(err);
    }
    *out = t;
    return PI_OK;
}

// Asked under the lock, so that what the last one did is seen by this one.
static bool is_first(const struct mutation_ticket *t)
{
    pthread_mutex_lock(&lock);
    bool first = t->line->first == t;
    pthread_mutex_unlock(&lock);
    return first;
}

enum pi_status mutation_wait(struct mutation_ticket *t, struct cancel *cancel,
                             struct pi_error *err)
{
    struct pollfd fds[2] = {
        {.fd = t->turn_fd, .events = POLLIN},
        {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN},
    };
    for (;;) {
        enum pi_status status = cancel_check(cancel, err);
        if (status != PI_OK) {
            return status;
        }
        if (is_first(t)) {
            return PI_OK;
        }
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return error_errno(err, errno, "cannot wait for a file");
        }
    }
}

void mutation_leave(struct mutation_ticket *t)
{
    if (!t) {
        return;
    }
    struct line *l = t->line;
    pthread_mutex_lock(&lock);
    if (t->prev) {
        t->prev->next = t->next;
    } else {
        l->first = t->next;
    }
    if (t->next) {
        t->next->prev = t->prev;
    } else {
        l->last = t->prev;
    }
    if (!l->first) {
        remove_line(l);
    } else if (!t->prev) {
        call(l->first);
    }
    pthread_mutex_unlock(&lock);
    close(t->turn_fd);
    free(t);
}
