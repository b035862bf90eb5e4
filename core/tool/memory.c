#include "tool/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"

struct seen {
    char *path;
    bool on_disk; // stamp counts
    struct file_stamp stamp;
    uint64_t hash;
    bool by_command;             // a command left it as `commanded` says
    struct file_stamp commanded; // all zero: removed
};

struct file_memory {
    pthread_mutex_t lock;
    struct map files; // key -> struct seen
};

static void seen_destroy(struct seen *s)
{
    if (s) {
        free(s->path);
        free(s);
    }
}

enum pi_status file_memory_create(struct file_memory **out, struct pi_error *err)
{
    struct file_memory *m = calloc(1, sizeof *m);
    if (!m) {
        return error_nomem(err);
    }
    pthread_mutex_init(&m->lock, NULL);
    *out = m;
    return PI_OK;
}

void file_memory_destroy(struct file_memory *m)
{
    if (!m) {
        return;
    }
    size_t at = 0;
    struct sv key;
    void *value;
    while (map_next(&m->files, &at, &key, &value)) {
        seen_destroy(value);
    }
    map_finish(&m->files);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void set_state(struct seen *s, const struct file_stamp *stamp, uint64_t hash)
{
    s->on_disk = stamp != NULL;
    s->stamp = stamp ? *stamp : (struct file_stamp){0};
    s->hash = hash;
    s->by_command = false;
}

void file_memory_saw(struct file_memory *m, const char *key, const char *path,
                     const struct file_stamp *stamp, uint64_t hash)
{
    struct seen *s = calloc(1, sizeof *s);
    if (s && !(s->path = strdup(path))) {
        free(s);
        s = NULL;
    }
    if (s) {
        set_state(s, stamp, hash);
    }
    pthread_mutex_lock(&m->lock);
    struct seen *old = map_remove(&m->files, sv_of(key));
    if (s && !map_set(&m->files, sv_of(key), s)) {
        seen_destroy(s);
    }
    pthread_mutex_unlock(&m->lock);
    seen_destroy(old);
}

static enum memory_verdict compare(const struct seen *s, const struct file_stamp *stamp,
                                   uint64_t hash)
{
    bool same_stamp = s->on_disk && stamp && file_stamp_eq(&s->stamp, stamp);
    if (same_stamp || (s->hash != 0 && s->hash == hash)) {
        return MEMORY_SAME;
    }
    return s->by_command && stamp && file_stamp_eq(&s->commanded, stamp) ? MEMORY_COMMAND
                                                                         : MEMORY_CHANGED;
}

enum memory_verdict file_memory_check(struct file_memory *m, const char *key,
                                      const struct file_stamp *stamp, uint64_t hash)
{
    enum memory_verdict verdict = MEMORY_UNKNOWN;
    pthread_mutex_lock(&m->lock);
    struct seen *s = map_get(&m->files, sv_of(key));
    if (s) {
        verdict = compare(s, stamp, hash);
        set_state(s, stamp, hash != 0 ? hash : verdict == MEMORY_SAME ? s->hash : 0);
    }
    pthread_mutex_unlock(&m->lock);
    return verdict;
}

enum memory_verdict file_memory_peek(struct file_memory *m, const char *key,
                                     const struct file_stamp *stamp, uint64_t hash)
{
    pthread_mutex_lock(&m->lock);
    const struct seen *s = map_get(&m->files, sv_of(key));
    enum memory_verdict verdict = s ? compare(s, stamp, hash) : MEMORY_UNKNOWN;
    pthread_mutex_unlock(&m->lock);
    return verdict;
}

/* ----------------------------------------------------------------- after a command -- */

// A file to look at, copied so that no lock is held while the file system works.
struct look {
    char *key;
    char *path;
    struct file_stamp stamp;
};

struct looks {
    struct look *items;
    size_t len, cap;
};

static bool add_look(struct looks *l, struct sv key, const struct seen *s)
{
    struct look *items = vec_grow(l->items, &l->cap, l->len + 1, sizeof *items);
    if (!items) {
        return false;
    }
    l->items = items;
    struct look *look = &items[l->len];
    look->key = strndup(key.p, key.n);
    look->path = strdup(s->path);
    look->stamp = s->stamp;
    if (!look->key || !look->path) {
        free(look->key);
        free(look->path);
        return false;
    }
    l->len++;
    return true;
}

// Without memory the rest is left out: those files will count as changed by others.
static void collect(struct file_memory *m, struct looks *l)
{
    size_t at = 0;
    struct sv key;
    void *value;
    pthread_mutex_lock(&m->lock);
    while (map_next(&m->files, &at, &key, &value)) {
        const struct seen *s = value;
        if (s->on_disk && !add_look(l, key, s)) {
            break;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

static void mark(struct file_memory *m, const struct look *look,
                 const struct file_stamp *now)
{
    pthread_mutex_lock(&m->lock);
    struct seen *s = map_get(&m->files, sv_of(look->key));
    if (s && s->on_disk && file_stamp_eq(&s->stamp, &look->stamp)) {
        s->by_command = true;
        s->commanded = *now;
    }
    pthread_mutex_unlock(&m->lock);
}

void file_memory_after_command(struct file_memory *m)
{
    struct looks l = {0};
    collect(m, &l);
    for (size_t i = 0; i < l.len; i++) {
        struct look *look = &l.items[i];
        struct stat st;
        struct file_stamp now = {0};
        if (stat(look->path, &st) == 0) {
            now = file_stamp_of(&st);
        }
        if (!file_stamp_eq(&now, &look->stamp)) {
            mark(m, look, &now);
        }
        free(look->key);
        free(look->path);
    }
    free(l.items);
}

uint64_t file_hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * 1099511628211ULL;
    }
    return hash;
}
