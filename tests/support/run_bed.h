#pragma once

// A runner with tools that do as their arguments say, and a mailbox between them. Include
// after cmocka.h.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "tool/run.h"

/* The mailbox of the test */

static struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct run_note *first, **end;
    struct buf order; // what the tools did: "a+ a- "
    atomic_int holds;
} box = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static inline void say(const char *id, const char *what)
{
    pthread_mutex_lock(&box.lock);
    buf_addf(&box.order, "%s%s ", id, what);
    pthread_mutex_unlock(&box.lock);
}

static inline void post(void *data, struct run_note *note)
{
    (void)data;
    pthread_mutex_lock(&box.lock);
    *run_note_link(note) = NULL;
    *box.end = note;
    box.end = run_note_link(note);
    pthread_cond_signal(&box.filled);
    pthread_mutex_unlock(&box.lock);
}

static inline struct run_note *take_notes(int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + (int64_t)wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&box.lock);
    int error = 0;
    while (!box.first && !error) {
        error = pthread_cond_timedwait(&box.filled, &box.lock, &until);
    }
    struct run_note *first = box.first;
    box.first = NULL;
    box.end = &box.first;
    pthread_mutex_unlock(&box.lock);
    return first;
}

static inline void hold(void *data)
{
    (void)data;
    atomic_fetch_add(&box.holds, 1);
}

static inline void let_go(void *data)
{
    (void)data;
    atomic_fetch_sub(&box.holds, 1);
}

/* Tools */

static inline bool nap(struct cancel *cancel, int ms)
{
    struct pollfd fd = {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN};
    return poll(&fd, 1, ms) > 0;
}

static inline enum pi_status plan_as(enum tool_effect effect, struct tool_plan *plan,
                                     const struct json *args, struct pi_error *err)
{
    const char *key = json_get_str(args, "key");
    nap(NULL, (int)json_get_num(args, "plan_ms", 0));
    plan->effect = effect;
    if (key) {
        plan->target.key = strdup(key);
        plan->target.path = strdup(key);
        plan->target.shown = strdup(key);
    }
    if (json_get_str(args, "no_plan")) {
        return error_set(err, PI_NOT_FOUND, "%s", json_get_str(args, "no_plan"));
    }
    return PI_OK;
}

#define PLAN(name, effect)                                                               \
    static inline enum pi_status name(struct tool_plan *plan, const struct json *args,   \
                                      const struct tool_context *context,                \
                                      struct pi_error *err)                              \
    {                                                                                    \
        (void)context;                                                                   \
        return plan_as(effect, plan, args, err);                                         \
    }

PLAN(plan_read, TOOL_READ)
PLAN(plan_change, TOOL_CHANGE)
PLAN(plan_exec, TOOL_EXEC)

static inline void open_in_kernel(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
}

static inline enum pi_status execute(struct tool_result *result, struct tool_call *call,
                                     struct pi_error *err)
{
    say(call->id, "+");
    const char *text = json_get_str(call->args, "say");
    for (double n = json_get_num(call->args, "updates", 0); n > 0; n--) {
        struct tool_update update = {.text = sv_of("u")};
        call->progress(call, &update);
    }
    if (json_get_str(call->args, "open")) {
        open_in_kernel(json_get_str(call->args, "open"));
    }
    bool deaf = json_get_bool(call->args, "deaf", false);
    if (nap(deaf ? NULL : call->cancel, (int)json_get_num(call->args, "ms", 0))) {
        say(call->id, "!");
        return error_set(err, PI_ABORTED, "Operation aborted");
    }
    say(call->id, "-");
    if (json_get_str(call->args, "fail")) {
        return error_set(err, PI_IO, "%s", json_get_str(call->args, "fail"));
    }
    return tool_result_text(result, sv_of(text ? text : "ok")) ? PI_OK : error_nomem(err);
}

static inline enum pi_status signals_blocked(struct tool_result *result,
                                             struct tool_call *call, struct pi_error *err)
{
    (void)call;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    bool right = sigismember(&set, SIGINT) && sigismember(&set, SIGCHLD) &&
                 sigismember(&set, SIGALRM) && !sigismember(&set, SIGSEGV) &&
                 !sigismember(&set, SIGBUS) && !sigismember(&set, SIGABRT);
    return tool_result_text(result, sv_of(right ? "right" : "wrong")) ? PI_OK
                                                                      : error_nomem(err);
}

static inline enum pi_status prepare_key(struct json **args, struct pi_error *err)
{
    (void)err;
    struct json *old = json_remove(*args, "file");
    return !old || json_set(*args, "key", old) ? PI_OK : error_nomem(err);
}

#define SCHEMA                                                                           \
    "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"ms\":{"        \
    "\"type\":"                                                                          \
    "\"integer\"}}}"

static const struct pi_tool_definition definitions[] = {
    {.name = "read",
     .parameters = SCHEMA,
     .mode = TOOL_PARALLEL,
     .plan = plan_read,
     .execute = execute},
    {.name = "edit",
     .parameters = SCHEMA,
     .plan = plan_change,
     .execute = execute,
     .prepare = prepare_key},
    {.name = "bash", .parameters = SCHEMA, .plan = plan_exec, .execute = execute},
    {.name = "par", .parameters = SCHEMA, .mode = TOOL_PARALLEL, .execute = execute},
    {.name = "seq", .parameters = SCHEMA, .execute = execute},
    {.name = "mask", .parameters = SCHEMA, .execute = signals_blocked},
    {.name = "hidden", .parameters = SCHEMA, .execute = execute},
};

/* The bed */

struct bed {
    struct registry registry;
    struct tool_context context;
    struct run *run;
    struct cancel *cancel;
    struct buf events; // what the port heard
    const char *asks;  // ids that are asked about
    const char *denies;
    int64_t abort_at_ms;
};

static inline bool listed(const char *ids, const char *id)
{
    return ids && strstr(ids, id);
}

static inline enum run_verdict judge(void *data, const struct tool_call *call,
                                     struct pi_error *err)
{
    struct bed *b = data;
    if (listed(b->denies, call->id)) {
        error_set(err, PI_DENIED, "outside of the folder");
        return RUN_DENY;
    }
    return listed(b->asks, call->id) ? RUN_ASK : RUN_ALLOW;
}

static inline enum run_verdict before(void *data, const struct tool_call *call,
                                      struct json *args, struct pi_error *err)
{
    (void)data;
    (void)call;
    if (json_get_bool(args, "hook_denies", false)) {
        error_set(err, PI_DENIED, "the hook says no");
        return RUN_DENY;
    }
    return RUN_ALLOW;
}

static inline void ask(void *data, const struct tool_call *call)
{
    buf_addf(&((struct bed *)data)->events, "%s? ", call->id);
}

static inline void ask_end(void *data, const struct tool_call *call)
{
    buf_addf(&((struct bed *)data)->events, "%s?? ", call->id);
}

static inline void started(void *data, const struct tool_call *call)
{
    assert_non_null(call->args);
    buf_addf(&((struct bed *)data)->events, "%s( ", call->id);
}

static inline void updated(void *data, const struct tool_call *call, struct sv text)
{
    buf_addf(&((struct bed *)data)->events, "%s%.*s ", call->id, (int)text.n, text.p);
}

static inline void ended(void *data, const struct tool_call *call,
                         struct tool_result *result)
{
    buf_addf(&((struct bed *)data)->events, "%s)%s ", call->id,
             result->is_error ? "!" : "");
}

static inline void bed_create(struct bed *b, bool barriers)
{
    static const struct pi_tool_definition
        *defs[sizeof definitions / sizeof *definitions];
    size_t len = sizeof definitions / sizeof *definitions;
    for (size_t i = 0; i < len; i++) {
        defs[i] = &definitions[i];
    }
    *b = (struct bed){.context = {.cwd = "/"}, .abort_at_ms = -1};
    buf_clear(&box.order);
    box.first = NULL;
    box.end = &box.first;
    assert_int_equal(registry_init(&b->registry, defs, len, NULL), PI_OK);
    assert_int_equal(
        registry_set_active(&b->registry, "read,edit,bash,par,seq,mask", NULL), PI_OK);
    assert_int_equal(cancel_create(&b->cancel, NULL, NULL), PI_OK);
    struct run_port port = {
        .data = b,
        .post = post,
        .hold = hold,
        .let_go = let_go,
        .before = before,
        .judge = judge,
        .ask = ask,
        .ask_end = ask_end,
        .started = started,
        .updated = updated,
        .ended = ended,
    };
    assert_int_equal(
        run_create(&b->run, &b->registry, &b->context, &port, b->cancel, barriers, NULL),
        PI_OK);
}

static inline void drop_notes(int wait_ms)
{
    for (struct run_note *n = take_notes(wait_ms), *next; n; n = next) {
        next = *run_note_link(n);
        assert_null(run_note_owner(n));
        run_note_drop(n);
    }
}

static inline void bed_destroy(struct bed *b)
{
    run_destroy(b->run);
    b->run = NULL;
    for (int i = 0; i < 3000 && atomic_load(&box.holds) > 0; i++) {
        drop_notes(1);
    }
    assert_int_equal(atomic_load(&box.holds), 0);
    drop_notes(0);
    registry_finish(&b->registry);
    cancel_unref(b->cancel);
    buf_finish(&b->events);
    buf_finish(&box.order);
}

static inline void add_after(struct bed *b, const char *id, const char *name,
                             const char *args, int64_t abort_after_ms)
{
    const struct run_request request = {.id = id,
                                        .name = name,
                                        .arguments = sv_of(args),
                                        .complete = true,
                                        .abort_after_ms = abort_after_ms};
    assert_int_equal(run_add(b->run, &request, NULL), PI_OK);
}

static inline void add(struct bed *b, const char *id, const char *name, const char *args)
{
    add_after(b, id, name, args, -1);
}

// Pumps until all have ended or the time is up; true when they have.
static inline bool pump(struct bed *b, int ms)
{
    int64_t until = clock_mono_ms() + ms;
    for (;;) {
        int wait_ms = -1;
        int64_t now = clock_mono_ms();
        if (b->abort_at_ms >= 0 && now >= b->abort_at_ms) {
            cancel_set(b->cancel);
            b->abort_at_ms = -1;
        }
        if (run_step(b->run, &wait_ms) == PI_OK) {
            assert_int_equal(wait_ms, -1);
            return true;
        }
        if (now >= until) {
            return false;
        }
        int64_t left = until - now;
        if (b->abort_at_ms >= 0 && b->abort_at_ms - now < left) {
            left = b->abort_at_ms - now;
        }
        left = wait_ms >= 0 && wait_ms < left ? wait_ms : left;
        for (struct run_note *n = take_notes((int)left), *next; n; n = next) {
            next = *run_note_link(n);
            assert_ptr_equal(run_note_owner(n), b->run);
            run_take(b->run, n);
        }
    }
}

static const char *text_of(struct bed *b, size_t i)
{
    const struct tool_result *r = run_result(b->run, i);
    return r->content.len > 0 ? buf_cstr(&r->content.blocks[0].text) : "";
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

static inline size_t position(const char *text, const char *part)
{
    assert_has(text, part);
    return (size_t)(strstr(text, part) - text);
}

static inline void assert_order(const char *text, const char *first, const char *second)
{
    if (position(text, first) >= position(text, second)) {
        fail_msg("\"%s\" is not before \"%s\" in: %s", first, second, text);
    }
}
