#include <pthread.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sys/clock.h"
#include "sys/guard_handle.h"
#include "sys/process.h"

enum { KILLED_MS = 200 }; // after KILL

struct process_jobs {
    pthread_mutex_t lock;
    struct guard_handle *items;
    size_t len, cap;
    bool ended; // no more are taken
};

enum pi_status process_jobs_create(struct process_jobs **out, struct pi_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return error_nomem(err);
    }
    if (pthread_mutex_init(&(*out)->lock, NULL) != 0) {
        free(*out);
        *out = NULL;
        return error_nomem(err);
    }
    return PI_OK;
}

static void remove_ended(struct process_jobs *jobs)
{
    for (size_t i = 0; i < jobs->len;) {
        if (guard_gone(&jobs->items[i], 0)) {
            guard_reap(&jobs->items[i]);
            jobs->items[i] = jobs->items[--jobs->len];
        } else {
            i++;
        }
    }
}

bool process_jobs_add(struct process_jobs *jobs, const struct guard_handle *guard)
{
    struct guard_handle *grown = NULL;
    pthread_mutex_lock(&jobs->lock);
    if (!jobs->ended) {
        remove_ended(jobs);
        grown = vec_grow(jobs->items, &jobs->cap, jobs->len + 1, sizeof *grown);
    }
    if (grown) {
        jobs->items = grown;
        jobs->items[jobs->len++] = *guard;
    }
    pthread_mutex_unlock(&jobs->lock);
    return grown != NULL;
}

static void end_all(struct guard_handle *guards, size_t len)
{
    int64_t until = clock_mono_ms() + GUARD_URGENT_GRACE_MS + KILLED_MS;
    for (size_t i = 0; i < len; i++) {
        guard_order(&guards[i], GUARD_END, GUARD_URGENT_GRACE_MS);
    }
    for (size_t i = 0; i < len; i++) {
        int64_t wait = until - clock_mono_ms();
        if (guard_gone(&guards[i], wait > 0 ? (int)wait : 0)) {
            guard_reap(&guards[i]);
        } else {
            // It goes on ending what is left, on its own.
            guard_let_go(&guards[i]);
        }
    }
}

void process_jobs_end(struct process_jobs *jobs)
{
    if (!jobs) {
        return;
    }
    pthread_mutex_lock(&jobs->lock);
    struct guard_handle *guards = jobs->items;
    size_t len = jobs->len;
    jobs->items = NULL;
    jobs->len = jobs->cap = 0;
    jobs->ended = true;
    pthread_mutex_unlock(&jobs->lock);
    end_all(guards, len);
    free(guards);
}

void process_jobs_destroy(struct process_jobs *jobs)
{
    if (jobs) {
        process_jobs_end(jobs);
        pthread_mutex_destroy(&jobs->lock);
        free(jobs);
    }
}
