// The module that Emacs loads: a few functions, each of which only carries something
// between Lisp and pi.h. What Lisp can do itself it does.

#include <stddef.h>
#include <stdlib.h>

#include <emacs-module.h>

#include "command.h"
#include "handle.h"
#include "options.h"
#include "pi.h"
#include "value.h"

// To be raised when a function or an item of a drain changes its meaning; pi-module.el
// has the same number.
enum { MODULE_ABI = 2 };

__attribute__((visibility("default"))) int plugin_is_GPL_compatible;

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

/* -- an agent begins and ends -- */

static bool start(emacs_env *env, struct handle *h, emacs_value vector)
{
    struct options o;
    struct pi_error err;
    bool ok = options_read(env, vector, &o);
    if (ok) {
        o.pi.host = &drain_host;
        o.pi.host_data = &h->drain;
        o.pi.wake = wake_ring;
        o.pi.wake_data = &h->wake;
        ok = pi_agent_create(&h->agent, &o.pi, &err) == PI_OK;
        if (!ok) {
            value_signal(env, &err);
        }
    }
    options_finish(&o);
    return ok;
}

static emacs_value f_create(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                            void *data)
{
    (void)nargs, (void)data;
    struct handle *h = handle_create(env);
    if (!h) {
        return NULL;
    }
    if (!wake_open(&h->wake, env, args[0]) || !start(env, h, args[1])) {
        handle_destroy(h);
        return NULL;
    }
    return handle_value(env, h);
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

static emacs_value f_rewire(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                            void *data)
{
    (void)nargs, (void)data;
    struct handle *h = handle_of(env, args[0]);
    if (h && h->agent) {
        wake_reopen(&h->wake, env, args[1]);
    }
    return value_nil(env);
}

/* -- what it is told -- */

static enum pi_delivery delivery_of(emacs_env *env, emacs_value symbol)
{
    return value_is(env, symbol, "steer")    ? PI_DELIVER_STEER
           : value_is(env, symbol, "prompt") ? PI_DELIVER_PROMPT
                                             : PI_DELIVER_FOLLOW_UP;
}

struct prompt {
    struct field_texts texts;
    const char *text;
    const char *const *image_texts; // type, data, type, data, ...
    struct pi_image *images;
    size_t images_len;
};

static const struct field prompt_fields[] = {
    {":text", FIELD_TEXT, offsetof(struct prompt, text), 0},
    {":images", FIELD_TEXTS, offsetof(struct prompt, image_texts), 0},
    {0},
};

static bool prompt_read(emacs_env *env, emacs_value vector, struct prompt *p)
{
    if (!fields_read(env, vector, prompt_fields, p, &p->texts)) {
        return false;
    }
    size_t n = 0;
    while (p->image_texts && p->image_texts[n] && p->image_texts[n + 1]) {
        n += 2;
    }
    p->images = calloc(n / 2 + 1, sizeof *p->images);
    if (!p->images) {
        value_signal_status(env, PI_NOMEM, "out of memory");
        return false;
    }
    for (; p->images_len < n / 2; p->images_len++) {
        const char *const *image = p->image_texts + 2 * p->images_len;
        p->images[p->images_len] =
            (struct pi_image){.mime_type = image[0], .data = image[1]};
    }
    return true;
}

static emacs_value f_prompt(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                            void *data)
{
    (void)nargs, (void)data;
    struct prompt p = {.text = ""};
    struct pi_error err;
    pi_agent *agent = handle_agent(env, args[0]);
    if (agent && prompt_read(env, args[2], &p) &&
        pi_agent_prompt(agent, p.text, p.images, p.images_len, delivery_of(env, args[1]),
                        &err)) {
        value_signal(env, &err);
    }
    field_texts_finish(&p.texts);
    free(p.images);
    return value_nil(env);
}

static emacs_value f_abort(emacs_env *env, ptrdiff_t nargs, emacs_value *args, void *data)
{
    (void)nargs, (void)data;
    pi_agent *agent = handle_agent(env, args[0]);
    if (agent) {
        pi_agent_abort(agent);
    }
    return value_nil(env);
}

static emacs_value f_command(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                             void *data)
{
    (void)nargs, (void)data;
    pi_agent *agent = handle_agent(env, args[0]);
    if (agent) {
        command_run(env, agent, args[1], args[2]);
    }
    return value_nil(env);
}

static emacs_value f_info(emacs_env *env, ptrdiff_t nargs, emacs_value *args, void *data)
{
    (void)nargs, (void)data;
    pi_agent *agent = handle_agent(env, args[0]);
    return agent ? command_info(env, agent, args[1]) : value_nil(env);
}

/* -- what it says and asks -- */

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
    pi_agent *agent = handle_agent(env, args[0]);
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

/* -- sessions on disk -- */

static emacs_value f_sessions(emacs_env *env, ptrdiff_t nargs, emacs_value *args,
                              void *data)
{
    (void)data;
    struct options o;
    struct buf wanted = {0};
    struct pi_error err;
    char *text = NULL;
    emacs_value value = NULL;
    bool find = nargs > 1 && env->is_not_nil(env, args[1]);
    bool newest = find && value_is(env, args[1], "newest");
    if (options_read(env, args[0], &o) &&
        (!find || newest || value_add_bytes(env, args[1], &wanted))) {
        enum pi_status status =
            find ? pi_session_find(&text, &o.pi, newest ? NULL : buf_cstr(&wanted), &err)
                 : pi_sessions_json(&text, &o.pi, &err);
        if (status) {
            value_signal(env, &err);
        } else {
            value = value_bytes(env, sv_of(text));
        }
    }
    pi_free(text);
    buf_finish(&wanted);
    options_finish(&o);
    return value;
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
     "flags\nand vectors of strings; :keys is [PROVIDER KEY PROVIDER KEY ...].\n\n"
     "(fn PIPE OPTIONS)"},
    {"pi-module--destroy", 1, 1, f_destroy,
     "End AGENT and all that it started; blocks for half a second at "
     "most.\n\n(fn AGENT)"},
    {"pi-module--rewire", 2, 2, f_rewire,
     "Let AGENT wake Emacs through PIPE from now on.\n\n(fn AGENT PIPE)"},
    {"pi-module--prompt", 3, 3, f_prompt,
     "Send a message of the user to AGENT.\nDELIVERY is `prompt', `steer' or "
     "`follow-up'; FIELDS a vector of :text, unibyte, and\n:images, a vector [TYPE "
     "BASE64 TYPE BASE64 ...].\n\n(fn AGENT DELIVERY FIELDS)"},
    {"pi-module--abort", 1, 1, f_abort, "End what AGENT does.\n\n(fn AGENT)"},
    {"pi-module--command", 3, 3, f_command,
     "Let AGENT do what the symbol NAME says, with FIELDS, a vector.\n"
     "What comes of it are events.  set-model (:model :provider), set-thinking "
     "(:level),\n"
     "list-models (:query), set-tools (:tools), set-review (:before), session-name "
     "(:text),\nadd-tool (:name :label :description :parameters :snippet :title "
     ":reads),\n"
     "remove-tool (:name), add-note (:text), list-messages (:max), call-tool (:id :name\n"
     ":arguments :cwd :timeout-ms), clear-queue, continue.\n\n(fn AGENT NAME FIELDS)"},
    {"pi-module--info", 2, 2, f_info,
     "What AGENT says about itself; NAME is `session-id', `session-path' or\n"
     "`system-prompt'.  A unibyte string or nil.\n\n(fn AGENT NAME)"},
    {"pi-module--drain", 3, 3, f_drain,
     "Take what AGENT has to say, about BYTES of it and for MS milliseconds.\n"
     "Return (STATE . ITEMS).  STATE is `ok', `more' (call again soon) or `closed'.  An\n"
     "item is an event, JSON in a unibyte string; a request (OP ID PATH VERSION CHANGES\n"
     "TOOL ARGUMENTS), OP being `read', `snapshot', `apply', `call-tool' or\n"
     "`before-command' and CHANGES a list of (OFFSET LENGTH TEXT); or (withdraw ID).\n"
     "ARGUMENTS is JSON for a tool, and the command itself before a command.\n\n"
     "(fn AGENT BYTES MS)"},
    {"pi-module--answer-host", 4, 4, f_answer_host,
     "Answer request ID of AGENT.\nSTATUS is `ok', `not-open', `stale', `conflict', "
     "`invalid' or `io'; FIELDS a vector\nof :text, :version, :unsaved, :saved and "
     ":message.\n\n(fn AGENT ID STATUS FIELDS)"},
    {"pi-module--answer-permission", 3, 4, f_answer_permission,
     "Answer question ID of AGENT with `once', `session' or `deny' and a REASON.\n\n"
     "(fn AGENT ID ANSWER &optional REASON)"},
    {"pi-module--sessions", 1, 2, f_sessions,
     "The sessions of the :cwd in OPTIONS, as JSON in a unibyte string.\n"
     "With WANTED, `newest' or the beginning of an id or a path, the file of that one\n"
     "session.\n\n(fn OPTIONS &optional WANTED)"},
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
