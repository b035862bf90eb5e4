// The module that Emacs loads: a few functions, each of which only carries something
// between Lisp and pi.h. What Lisp can do itself it does.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <emacs-module.h>

#include "base/error.h"
#include "fields.h"
#include "host.h"
#include "pi.h"
#include "pi_tools.h"
#include "value.h"
#include "wake.h"

// To be raised when a function or an item of a drain changes its meaning; pi-module.el
// has the same number.
enum { MODULE_ABI = 1 };

__attribute__((visibility("default"))) int plugin_is_GPL_compatible;

/* -- the handle -- */

// An agent as Lisp holds it, a user pointer.
struct handle {
    pi_agent *agent; // NULL once it was destroyed
    struct wake wake;
    struct drain *drain; // the one under way
};

static void handle_destroy(struct handle *h)
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

static void signal_status(emacs_env *env, enum pi_status status, const char *message)
{
    struct pi_error err;
    (void)error_set(&err, status, "%s", message);
    value_signal(env, &err);
}

// The handle in a Lisp value; NULL with a signal in env when it is none of ours.
static struct handle *handle_of(emacs_env *env, emacs_value value)
{
    emacs_finalizer finalizer = env->get_user_finalizer(env, value);
    if (value_ok(env) && finalizer != handle_finalize) {
        signal_status(env, PI_INVALID, "not an agent");
    }
    return value_ok(env) ? env->get_user_ptr(env, value) : NULL;
}

// The agent that lives in a Lisp value; NULL with a signal in env.
static pi_agent *agent_of(emacs_env *env, emacs_value value)
{
    struct handle *h = handle_of(env, value);
    if (h && !h->agent) {
        signal_status(env, PI_CLOSED, "the agent has ended");
    }
    return h ? h->agent : NULL;
}

/* -- functions -- */

static emacs_value f_abi(emacs_env *env, ptrdiff_t nargs, emacs_value *args, void *data)
{
    (void)nargs, (void)args, (void)data;
    return value_number(env, MODULE_ABI);
}

static emacs_value f_version(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                             void *data)
{
    (void)nargs, (void)args, (void)data;
    return value_bytes(env, sv_of(pi_version()));
}

#define OPTION(name, kind, member)                                                       \
    {                                                                                    \
        name, kind, offsetof(struct options, member), 0                                  \
    }

// What Lisp may set, and what needs a second look.
struct options {
    struct pi_agent_options pi;
    bool yolo;
};

static const struct field option_fields[] = {
    OPTION(":cwd", FIELD_TEXT, pi.cwd),
    OPTION(":agent-dir", FIELD_TEXT, pi.agent_dir),
    OPTION(":environment", FIELD_TEXTS, pi.environment),
    OPTION(":model", FIELD_TEXT, pi.model),
    OPTION(":tools", FIELD_TEXT, pi.tools),
    OPTION(":guard", FIELD_TEXT, pi.guard_path),
    OPTION(":log", FIELD_TEXT, pi.log_path),
    OPTION(":no-context-files", FIELD_FLAG, pi.no_context_files),
    OPTION(":yolo", FIELD_FLAG, yolo),
    {0},
};

static bool start(emacs_env *env, struct handle *h, emacs_value vector)
{
    struct options o = {.pi = PI_AGENT_OPTIONS_INIT};
    struct field_texts texts = {0};
    struct pi_error err;
    bool ok = fields_read(env, vector, option_fields, &o, &texts);
    if (ok) {
        o.pi.permissions = o.yolo ? PI_PERMISSIONS_YOLO : PI_PERMISSIONS_ASK;
        o.pi.definitions = pi_tools_builtin(&o.pi.definitions_len);
        o.pi.host = &drain_host;
        o.pi.host_data = &h->drain;
        o.pi.wake = wake_ring;
        o.pi.wake_data = &h->wake;
        ok = pi_agent_create(&h->agent, &o.pi, &err) == PI_OK;
        if (!ok) {
            value_signal(env, &err);
        }
    }
    field_texts_finish(&texts);
    return ok;
}

static emacs_value f_create(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                            void *data)
{
    (void)nargs, (void)data;
    struct handle *h = calloc(1, sizeof *h);
    if (!h) {
        signal_status(env, PI_NOMEM, "out of memory");
        return NULL;
    }
    h->wake.fd = -1;
    if (!wake_open(&h->wake, env, args[0]) || !start(env, h, args[1])) {
        handle_destroy(h);
        return NULL;
    }
    emacs_value value = env->make_user_ptr(env, handle_finalize, h);
    if (!value_ok(env)) {
        handle_destroy(h);
    }
    return value;
}

static emacs_value f_destroy(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                             void *data)
{
    (void)nargs, (void)data;
    struct handle *h = handle_of(env, args[0]);
    if (h) {
        pi_agent *agent = h->agent;
        h->agent = NULL;
        pi_agent_destroy(agent);
        wake_close(&h->wake);
    }
    return value_nil(env);
}

static emacs_value f_prompt(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                            void *data)
{
    (void)nargs, (void)data;
    struct buf text = {0};
    struct pi_error err;
    pi_agent *agent = agent_of(env, args[0]);
    if (agent && value_add_bytes(env, args[1], &text)) {
        enum pi_delivery delivery =
            value_is(env, args[2], "steer") ? PI_DELIVER_STEER : PI_DELIVER_FOLLOW_UP;
        if (pi_agent_prompt(agent, buf_cstr(&text), NULL, 0, delivery, &err)) {
            value_signal(env, &err);
        }
    }
    buf_finish(&text);
    return value_nil(env);
}

static emacs_value f_abort(emacs_env *env, ptrdiff_t nargs, emacs_value *args, void *data)
{
    (void)nargs, (void)data;
    pi_agent *agent = agent_of(env, args[0]);
    if (agent) {
        pi_agent_abort(agent);
    }
    return value_nil(env);
}

static emacs_value f_drain(emacs_env *env, ptrdiff_t nargs, emacs_value *args, void *data)
{
    (void)nargs, (void)data;
    struct handle *h = handle_of(env, args[0]);
    struct pi_budget budget = {
        .bytes = (size_t)env->extract_integer(env, args[1]),
        .time_ms = (unsigned)env->extract_integer(env, args[2]),
    };
    if (!value_ok(env)) {
        return NULL;
    }
    if (!h->agent) {
        return value_cons(env, value_symbol(env, "closed"), value_nil(env));
    }
    return drain_run(env, h->agent, &h->drain, &budget);
}

// An answer may come after the end; then nobody wants it.
static emacs_value f_answer_host(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                                 void *data)
{
    (void)nargs, (void)data;
    struct handle *h = handle_of(env, args[0]);
    if (h && h->agent) {
        drain_answer(env, h->agent, args + 1);
    }
    return value_nil(env);
}

static emacs_value f_answer_permission(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                                       void *data)
{
    (void)data;
    struct buf id = {0};
    struct buf reason = {0};
    pi_agent *agent = agent_of(env, args[0]);
    if (agent && value_add_bytes(env, args[1], &id) &&
        (nargs < 4 || !env->is_not_nil(env, args[3]) ||
         value_add_bytes(env, args[3], &reason))) {
        enum pi_permission answer = value_is(env, args[2], "once") ? PI_PERMISSION_ONCE
                                    : value_is(env, args[2], "session")
                                        ? PI_PERMISSION_SESSION
                                        : PI_PERMISSION_DENY;
        pi_agent_answer_permission(agent, buf_cstr(&id), answer,
                                   reason.len ? buf_cstr(&reason) : NULL);
    }
    buf_finish(&id);
    buf_finish(&reason);
    return value_nil(env);
}

/* -- start -- */

static const struct {
    const char *name;
    ptrdiff_t min, max;
    emacs_value (*function)(emacs_env *, ptrdiff_t, emacs_value *, void *);
    const char *doc;
} functions[] = {
    {"pi-module--abi", 0, 0, f_abi, "The number of this module's interface.\n\n(fn)"},
    {"pi-module--version", 0, 0, f_version, "The version of pi.\n\n(fn)"},
    {"pi-module--create", 2, 2, f_create,
     "Start an agent that wakes Emacs through the pipe process PIPE.\n"
     "OPTIONS is a vector [:cwd \"/dir\" :model \"replay:FILE\" ...] of unibyte strings, "
     "flags\nand vectors of strings.\n\n(fn PIPE OPTIONS)"},
    {"pi-module--destroy", 1, 1, f_destroy,
     "End AGENT and all that it started; blocks for half a second at "
     "most.\n\n(fn AGENT)"},
    {"pi-module--prompt", 3, 3, f_prompt,
     "Send TEXT, unibyte, to AGENT; DELIVERY is `steer' or `follow-up'.\n\n"
     "(fn AGENT TEXT DELIVERY)"},
    {"pi-module--abort", 1, 1, f_abort, "End what AGENT does.\n\n(fn AGENT)"},
    {"pi-module--drain", 3, 3, f_drain,
     "Take what AGENT has to say, about BYTES of it and for MS milliseconds.\n"
     "Return (STATE . ITEMS).  STATE is `ok', `more' (call again soon) or `closed'.  An\n"
     "item is an event, JSON in a unibyte string; a request (OP ID PATH VERSION "
     "CHANGES),\nOP being `read', `snapshot' or `apply' and CHANGES a list of (OFFSET "
     "LENGTH TEXT);\nor (withdraw ID).\n\n(fn AGENT BYTES MS)"},
    {"pi-module--answer-host", 4, 4, f_answer_host,
     "Answer request ID of AGENT.\nSTATUS is `ok', `not-open', `stale', `conflict', "
     "`invalid' or `io'; FIELDS a vector\nof :text, :version, :unsaved, :saved and "
     ":message.\n\n(fn AGENT ID STATUS FIELDS)"},
    {"pi-module--answer-permission", 3, 4, f_answer_permission,
     "Answer question ID of AGENT with `once', `session' or `deny' and a REASON.\n\n"
     "(fn AGENT ID ANSWER &optional REASON)"},
};

static void export(emacs_env *env, size_t i)
{
    emacs_value args[] = {
        value_symbol(env, functions[i].name),
        env->make_function(env, functions[i].min, functions[i].max, functions[i].function,
                           functions[i].doc, NULL),
    };
    env->funcall(env, value_symbol(env, "defalias"), 2, args);
}

// The result is shown by Emacs when it is not 0: 1 and 2 say that Emacs is too old.
__attribute__((visibility("default"))) int
emacs_module_init(struct emacs_runtime *runtime)
{
    if ((size_t)runtime->size < sizeof *runtime) {
        return 1;
    }
    emacs_env *env = runtime->get_environment(runtime);
    if ((size_t)env->size < sizeof(struct emacs_env_28)) {
        return 2;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        export(env, i);
    }
    return value_ok(env) ? 0 : 3;
}
