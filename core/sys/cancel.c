#include "sys/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CLEAR, SET, URGENT };

struct cancel {
    atomic_int refs;
    atomic_int state;
    int fd; // an eventfd that is written once and never read
    struct cancel *parent;
    pthread_mutex_t lock; // guards children and their next and prev
    struct cancel *children;
    struct cancel *next, *prev;
};

// Locks are taken from the parent down to the child, never the other way round.
static void set_state(struct cancel *c, int state)
{
    pthread_mutex_lock(&c->lock);
    int old = atomic_load(&c->state);
    if (old < state) {
        atomic_store(&c->state, state);
    }
    if (old == CLEAR) {
        const uint64_t one = 1;
        // Cannot fail: the counter of a fresh eventfd has room for it.
        ssize_t written = write(c->fd, &one, sizeof one);
        (void)written;
    }
    for (struct cancel *child = c->children; child; child = child->next) {
        set_state(child, state);
    }
    pthread_mutex_unlock(&c->lock);
}

static void link_child(struct cancel *parent, struct cancel *child)
{
    pthread_mutex_lock(&parent->lock);
    child->next = parent->children;
    if (child->next) {
        child->next->prev = child;
    }
    parent->children = child;
    // Read under the lock: a later cancel of the parent finds the child in the list.
    int state = atomic_load(&parent->state);
    pthread_mutex_unlock(&parent->lock);
    if (state != CLEAR) {
        set_state(child, state);
    }
}

static void unlink_child(struct cancel *parent, struct cancel *child)
{
    pthread_mutex_lock(&parent->lock);
    if (child->prev) {
        child->prev->next = child->next;
    } else {
        parent->children = child->next;
    }
    if (child->next) {
        child->next->prev = child->prev;
    }
    pthread_mutex_unlock(&parent->lock);
}

enum pi_status cancel_create(struct cancel **out, struct cancel *parent,
                             struct pi_error *err)
{
    *out = NULL;
    struct cancel *c = calloc(1, sizeof *c);
    if (!c) {
        return error_nomem(err);
    }
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->fd < 0) {
        int errnum = errno;
        free(c);
        return error_errno(err, errnum, "cannot create a cancel token");
    }
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        close(c->fd);
        free(c);
        return error_nomem(err);
    }
    atomic_init(&c->refs, 1);
    atomic_init(&c->state, CLEAR);
    if (parent) {
        c->parent = cancel_ref(parent);
        link_child(parent, c);
    }
    *out = c;
    return PI_OK;
}

struct cancel *cancel_ref(struct cancel *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void cancel_unref(struct cancel *c)
{
    while (c && atomic_fetch_sub(&c->refs, 1) == 1) {
        struct cancel *parent = c->parent;
        if (parent) {
            unlink_child(parent, c);
        }
        close(c->fd);
        pthread_mutex_destroy(&c->lock);
        free(c);
        c = parent;
    }
}

void cancel_set(struct cancel *c)
{
    set_state(c, SET);
}

void cancel_set_urgent(struct cancel *c)
{
    set_state(c, URGENT);
}

bool cancel_is_set(const struct cancel *c)
{
    return c && atomic_load(&c->state) != CLEAR;
}

bool cancel_is_urgent(const struct cancel *c)
{
    return c && atomic_load(&c->state) == URGENT;
}

int cancel_fd(const struct cancel *c)
{
    return c->fd;
}

enum pi_status cancel_check(const struct cancel *c, struct pi_error *err)
{
    if (cancel_is_set(c)) {
        return error_set(err, PI_ABORTED, "Operation aborted");
    }
    return PI_OK;
}
