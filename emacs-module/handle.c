#include "handle.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "value.h"

struct handle *handle_create(emacs_env *env)
{
    struct handle *h = calloc(1, sizeof *h);
    if (!h) {
        value_signal_status(env, PI_NOMEM, "out of memory");
        return NULL;
    }
    h->wake.fd = -1;
    return h;
}

void handle_destroy(struct handle *h)
{
    pi_agent_destroy(h->agent);
    wake_close(&h->wake);
    free(h);
}

static void *destroy_later(void *handle)
{
    handle_destroy(handle);
    return NULL;
}

// The garbage collector must not wait for threads, so a forgotten agent ends on a thread
// of its own.
static void handle_finalize(void *data)
{
    struct handle *h = data;
    if (!h->agent) {
        handle_destroy(h);
        return;
    }
    sigset_t all;
    sigset_t old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&thread, NULL, destroy_later, h) == 0) {
        pthread_detach(thread);
    } else {
        pi_agent_abort(h->agent);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

emacs_value handle_value(emacs_env *env, struct handle *h)
{
    emacs_value value = env->make_user_ptr(env, handle_finalize, h);
    if (!value_ok(env)) {
        handle_destroy(h);
        return NULL;
    }
    return value;
}

struct handle *handle_of(emacs_env *env, emacs_value value)
{
    emacs_finalizer finalizer = env->get_user_finalizer(env, value);
    if (value_ok(env) && finalizer != handle_finalize) {
        value_signal_status(env, PI_INVALID, "not an agent");
    }
    return value_ok(env) ? env->get_user_ptr(env, value) : NULL;
}

pi_agent *handle_agent(emacs_env *env, emacs_value value)
{
    struct handle *h = handle_of(env, value);
    if (h && !h->agent) {
        value_signal_status(env, PI_CLOSED, "the agent has ended");
    }
    return h ? h->agent : NULL;
}
