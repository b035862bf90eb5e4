#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "tool/mutation_queue.h"
#include "tool/run.h"

/* The mailbox of the test */

static struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct run_note *first, **end;
    struct buf order; // what the tools did: "a+ a- "
    atomic_int holds;
} box = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void say(const char *id, const char *what)
{
    pthread_mutex_lock(&box.lock);
    buf_addf(&box.order, "%s%s ", id, what);
    pthread_mutex_unlock(&box.lock);
}

static void post(void *data, struct run_note *note)
{
    (void)data;
    pthread_mutex_lock(&box.lock);
    *run_note_link(note) = NULL;
    *box.end = note;
    box.end = run_note_link(note);
    pthread_cond_signal(&box.filled);
    pthread_mutex_unlock(&box.lock);
}

static struct run_note *take_notes(int wait_ms)
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

static void hold(void *data)
{
    (void)data;
    atomic_fetch_add(&box.holds, 1);
}

static void let_go(void *data)
{
    (void)data;
    atomic_fetch_sub(&box.holds, 1);
}

/* Tools */

static bool nap(struct cancel *cancel, int ms)
{
    struct pollfd fd = {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN};
    return poll(&fd, 1, ms) > 0;
}

static enum pi_status plan_as(enum tool_effect effect, struct tool_plan *plan,
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
    static enum pi_status name(struct tool_plan *plan, const struct json *args,          \
                               const struct tool_context *context, struct pi_error *err) \
    {                                                                                    \
        (void)context;                                                                   \
        return plan_as(effect, plan, args, err);                                         \
    }

PLAN(plan_read, TOOL_READ)
PLAN(plan_change, TOOL_CHANGE)
PLAN(plan_exec, TOOL_EXEC)

static void open_in_kernel(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
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

static enum pi_status signals_blocked(struct tool_result *result, struct tool_call *call,
                                      struct pi_error *err)
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

static enum pi_status prepare_key(struct json **args, struct pi_error *err)
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

static bool listed(const char *ids, const char *id)
{
    return ids && strstr(ids, id);
}

static enum run_verdict judge(void *data, const struct tool_call *call,
                              struct pi_error *err)
{
    struct bed *b = data;
    if (listed(b->denies, call->id)) {
        error_set(err, PI_DENIED, "outside of the folder");
        return RUN_DENY;
    }
    return listed(b->asks, call->id) ? RUN_ASK : RUN_ALLOW;
}

static enum run_verdict before(void *data, const struct tool_call *call,
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

static void ask(void *data, const struct tool_call *call)
{
    buf_addf(&((struct bed *)data)->events, "%s? ", call->id);
}

static void ask_end(void *data, const struct tool_call *call)
{
    buf_addf(&((struct bed *)data)->events, "%s?? ", call->id);
}

static void started(void *data, const struct tool_call *call)
{
    assert_non_null(call->args);
    buf_addf(&((struct bed *)data)->events, "%s( ", call->id);
}

static void updated(void *data, const struct tool_call *call, struct sv text)
{
    buf_addf(&((struct bed *)data)->events, "%s%.*s ", call->id, (int)text.n, text.p);
}

static void ended(void *data, const struct tool_call *call, struct tool_result *result)
{
    buf_addf(&((struct bed *)data)->events, "%s)%s ", call->id,
             result->is_error ? "!" : "");
}

static void bed_create(struct bed *b, bool barriers)
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

static void drop_notes(int wait_ms)
{
    for (struct run_note *n = take_notes(wait_ms), *next; n; n = next) {
        next = *run_note_link(n);
        assert_null(run_note_owner(n));
        run_note_drop(n);
    }
}

static void bed_destroy(struct bed *b)
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

static void add_after(struct bed *b, const char *id, const char *name, const char *args,
                      int64_t abort_after_ms)
{
    const struct run_request request = {.id = id,
                                        .name = name,
                                        .arguments = sv_of(args),
                                        .complete = true,
                                        .abort_after_ms = abort_after_ms};
    assert_int_equal(run_add(b->run, &request, NULL), PI_OK);
}

static void add(struct bed *b, const char *id, const char *name, const char *args)
{
    add_after(b, id, name, args, -1);
}

// Pumps until all have ended or the time is up; true when they have.
static bool pump(struct bed *b, int ms)
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

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

static size_t position(const char *text, const char *part)
{
    assert_has(text, part);
    return (size_t)(strstr(text, part) - text);
}

static void assert_order(const char *text, const char *first, const char *second)
{
    if (position(text, first) >= position(text, second)) {
        fail_msg("\"%s\" is not before \"%s\" in: %s", first, second, text);
    }
}

/* Order */

static void reads_run_side_by_side_and_results_keep_their_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", "{\"key\":\"x\",\"ms\":250,\"say\":\"slow\"}");
    add(&b, "b", "read", "{\"key\":\"x\",\"say\":\"fast\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&b.events), "b)", "a)");
    assert_int_equal(run_len(b.run), 2);
    assert_string_equal(run_call(b.run, 0)->id, "a");
    assert_string_equal(text_of(&b, 0), "slow");
    assert_string_equal(text_of(&b, 1), "fast");
    bed_destroy(&b);
}

static void failures_before_the_start_end_at_once(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "par", "{\"ms\":250}");
    add(&b, "b", "nothing", "{}");
    add(&b, "c", "par", "{\"ms\":\"many\"}");
    add(&b, "d", "par", "{\"updates\":2}");
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&b.events), "a( b( b)! c( c)! d( du du d) a) ");
    assert_has(text_of(&b, 1), "Unknown tool \"nothing\"");
    assert_has(text_of(&b, 1), "read, edit, bash, par, seq, mask");
    assert_has(text_of(&b, 2), "- ms: must be an integer");
    assert_int_equal(json_type(run_call(b.run, 1)->args), JSON_OBJECT);
    bed_destroy(&b);
}

static void changes_of_one_file_run_in_call_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    // The first is planned last: the others must wait for its key.
    add(&b, "a", "edit", "{\"file\":\"x\",\"plan_ms\":40,\"ms\":250}");
    add(&b, "b", "edit", "{\"key\":\"x\",\"ms\":20}");
    add(&b, "c", "edit", "{\"key\":\"y\",\"ms\":1}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    assert_true(pump(&b, 2000));
    const char *order = buf_cstr(&box.order);
    assert_order(order, "a-", "b+");
    assert_order(order, "b-", "d+");
    assert_order(order, "c-", "a-");
    bed_destroy(&b);
}

static void a_read_after_a_change_of_the_same_file_sees_it(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"plan_ms\":30,\"ms\":250}");
    add(&b, "b", "read", "{\"key\":\"x\"}");
    add(&b, "c", "read", "{\"key\":\"y\"}");
    add(&b, "d", "edit", "{\"key\":\"y\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&box.order), "a-", "b+");
    assert_order(buf_cstr(&box.order), "c-", "d+");
    assert_order(buf_cstr(&box.order), "c-", "a-");
    bed_destroy(&b);
}

static void commands_and_sequential_tools_are_barriers(void **state)
{
    (void)state;
    static const char *const barriers[] = {"bash", "seq"};
    for (size_t i = 0; i < 2; i++) {
        struct bed b;
        bed_create(&b, true);
        add(&b, "a", "edit", "{\"key\":\"x\",\"ms\":30}");
        add(&b, "b", "read", "{\"key\":\"y\",\"ms\":50}");
        add(&b, "c", barriers[i], "{\"ms\":30}");
        add(&b, "d", "read", "{\"key\":\"x\"}");
        add(&b, "e", "par", "{}");
        assert_true(pump(&b, 2000));
        const char *order = buf_cstr(&box.order);
        assert_order(order, "a-", "c+");
        assert_order(order, "b-", "c+");
        assert_order(order, "c-", "d+");
        assert_order(order, "c-", "e+");
        bed_destroy(&b);
    }
}

static void a_parallel_tool_without_a_plan_is_no_barrier(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "par", "{\"ms\":250}");
    add(&b, "b", "par", "{}");
    add(&b, "c", "edit", "{\"key\":\"x\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&box.order), "b-", "a-");
    assert_order(buf_cstr(&box.order), "c-", "a-");
    bed_destroy(&b);
}

static void reads_do_not_wait_for_a_plan_that_hangs(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"plan_ms\":1200}");
    add(&b, "b", "read", "{\"key\":\"y\"}");
    add(&b, "c", "edit", "{\"key\":\"y\"}");
    int64_t then = clock_mono_ms();
    assert_false(pump(&b, 700));
    assert_string_equal(buf_cstr(&box.order), "b+ b- ");
    assert_true(pump(&b, 3000));
    assert_true(clock_mono_ms() - then >= 1200);
    assert_order(buf_cstr(&box.order), "b-", "a+");
    bed_destroy(&b);
}

static void without_barriers_only_files_keep_an_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, false);
    add(&b, "a", "bash", "{\"ms\":400}");
    add(&b, "b", "seq", "{\"ms\":400}");
    add(&b, "c", "edit", "{\"key\":\"x\",\"plan_ms\":30,\"ms\":20}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    add(&b, "e", "edit", "{\"key\":\"y\"}");
    assert_true(pump(&b, 2000));
    const char *order = buf_cstr(&box.order);
    assert_order(order, "c-", "d+");
    assert_order(order, "d-", "a-");
    assert_order(order, "b+", "a-");
    assert_order(order, "e-", "a-");
    run_prune(b.run);
    assert_int_equal(run_len(b.run), 0);
    bed_destroy(&b);
}

static void a_large_batch_is_run_in_parts(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    for (int i = 0; i < 400; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        add(&b, id, "read", "{\"key\":\"x\",\"ms\":1}");
    }
    assert_true(pump(&b, 20000));
    for (size_t i = 0; i < 400; i++) {
        assert_string_equal(text_of(&b, i), "ok");
    }
    bed_destroy(&b);
}

/* Errors */

static void errors_become_results(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.denies = "d";
    const struct run_request cut = {.id = "c",
                                    .name = "read",
                                    .arguments = sv_of("{\"key\":\"a"),
                                    .abort_after_ms = -1};
    add(&b, "a", "par", "{\"fail\":\"the disk is on fire\"}");
    add(&b, "b", "edit", "{\"no_plan\":\"no such file\"}");
    assert_int_equal(run_add(b.run, &cut, NULL), PI_OK);
    add(&b, "d", "read", "{}");
    add(&b, "e", "hidden", "{}");
    add(&b, "f", "READ", "{}");
    add(&b, "g", "read", "{\"key\":\"a");
    add(&b, "h", "read", "{\"hook_denies\":true}");
    assert_true(pump(&b, 2000));
    static const char *const words[] = {"the disk is on fire",
                                        "no such file",
                                        "did not arrive whole",
                                        "outside of the folder",
                                        "is not active",
                                        "Did you mean \"read\"?",
                                        "cut off",
                                        "the hook says no"};
    for (size_t i = 0; i < 8; i++) {
        assert_true(run_result(b.run, i)->is_error);
        assert_has(text_of(&b, i), words[i]);
    }
    assert_string_equal(buf_cstr(&box.order), "a+ a- ");
    bed_destroy(&b);
}

static void tool_threads_leave_signals_to_the_process(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "mask", "{}");
    assert_true(pump(&b, 2000));
    assert_string_equal(text_of(&b, 0), "right");
    bed_destroy(&b);
}

/* Questions */

static void a_question_blocks_only_what_must_wait(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "a";
    add(&b, "a", "edit", "{\"key\":\"x\"}");
    add(&b, "b", "read", "{\"key\":\"y\"}");
    add(&b, "c", "edit", "{\"key\":\"y\"}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    add(&b, "e", "bash", "{}");
    assert_false(pump(&b, 300));
    assert_string_equal(buf_cstr(&box.order), "b+ b- c+ c- ");
    assert_has(buf_cstr(&b.events), "a? ");
    run_answer(b.run, "zzz", true, NULL);
    run_answer(b.run, "a", true, NULL);
    run_answer(b.run, "a", false, "too late");
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "b+ b- c+ c- a+ a- d+ d- e+ e- ");
    assert_null(strstr(buf_cstr(&b.events), "??"));
    bed_destroy(&b);
}

static void a_refused_call_tells_the_reason(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "ab";
    add(&b, "a", "read", "{}");
    add(&b, "b", "read", "{}");
    assert_false(pump(&b, 200));
    run_answer(b.run, "a", false, "use the other file");
    run_answer(b.run, "b", false, NULL);
    assert_true(pump(&b, 2000));
    assert_string_equal(text_of(&b, 0),
                        "The user did not allow this call: use the other file");
    assert_string_equal(text_of(&b, 1), "The user did not allow this call.");
    assert_string_equal(buf_cstr(&box.order), "");
    bed_destroy(&b);
}

static void abort_withdraws_a_question(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "a";
    add(&b, "a", "read", "{}");
    assert_false(pump(&b, 200));
    cancel_set(b.cancel);
    assert_true(pump(&b, 1000));
    assert_string_equal(buf_cstr(&b.events), "a? a?? a( a)! ");
    run_answer(b.run, "a", true, NULL);
    assert_true(pump(&b, 1000));
    bed_destroy(&b);
}

/* Abort */

static void abort_ends_what_runs_and_starts_nothing_more(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "bash", "{\"ms\":10000}");
    add(&b, "b", "edit", "{\"key\":\"x\"}");
    b.abort_at_ms = clock_mono_ms() + 200;
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "a+ a! ");
    assert_has(text_of(&b, 0), "Operation aborted");
    assert_has(text_of(&b, 1), "Aborted before it ran");
    assert_string_equal(buf_cstr(&b.events), "a( b( b)! a)! ");
    bed_destroy(&b);
}

static void one_call_can_be_aborted_alone(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, false);
    add_after(&b, "a", "bash", "{\"ms\":10000}", 200);
    add_after(&b, "b", "edit", "{\"key\":\"x\"}", 0);
    add_after(&b, "c", "bash", "{\"ms\":300}", 100000);
    assert_true(pump(&b, 2000));
    assert_true(run_result(b.run, 0)->is_error);
    assert_has(text_of(&b, 1), "Aborted before it ran");
    assert_string_equal(text_of(&b, 2), "ok");
    assert_null(strstr(buf_cstr(&box.order), "b+"));
    bed_destroy(&b);
}

static void a_thread_that_does_not_hear_is_left_to_itself(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"deaf\":true,\"ms\":1500}");
    add(&b, "b", "read", "{\"key\":\"y\",\"deaf\":true,\"ms\":1500}");
    add(&b, "c", "read", "{\"plan_ms\":1500}");
    b.abort_at_ms = clock_mono_ms() + 200;
    int64_t then = clock_mono_ms();
    assert_true(pump(&b, 2000));
    assert_in_range(clock_mono_ms() - then, 390, 1200);
    assert_has(text_of(&b, 0), "file system does not respond");
    assert_has(text_of(&b, 0), "change of x may still be made");
    assert_has(text_of(&b, 1), "file system does not respond");
    assert_has(text_of(&b, 2), "file system does not respond");
    assert_int_equal(atomic_load(&box.holds), 3);

    // The file stays locked until its thread has come back.
    struct mutation_ticket *ticket = NULL;
    then = clock_mono_ms();
    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    struct cancel *patience = NULL;
    assert_int_equal(cancel_create(&patience, NULL, NULL), PI_OK);
    assert_int_equal(mutation_wait(ticket, patience, NULL), PI_OK);
    assert_true(clock_mono_ms() - then > 100);
    mutation_leave(ticket);
    cancel_unref(patience);
    bed_destroy(&b);
}

static void late_notes_do_nothing(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", "{\"deaf\":true,\"ms\":500}");
    b.abort_at_ms = clock_mono_ms() + 100;
    assert_true(pump(&b, 2000));
    for (int i = 0; i < 1000 && atomic_load(&box.holds) > 0; i++) {
        nap(NULL, 1);
    }
    size_t before = b.events.len;
    assert_true(pump(&b, 100));
    for (struct run_note *n = take_notes(50), *next; n; n = next) {
        next = *run_note_link(n);
        run_take(b.run, n);
    }
    assert_true(pump(&b, 100));
    assert_int_equal(b.events.len, before);
    bed_destroy(&b);
}

static void a_thread_inside_the_kernel_outlives_its_runner(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    char path[256], args[300];
    snprintf(path, sizeof path, "%s/fifo-%d", dir ? dir : "/tmp", (int)getpid());
    snprintf(args, sizeof args, "{\"open\":\"%s\"}", path);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", args);
    assert_false(pump(&b, 200));
    int64_t then = clock_mono_ms();
    run_destroy(b.run);
    b.run = NULL;
    assert_in_range(clock_mono_ms() - then, 190, 1000);
    assert_int_equal(atomic_load(&box.holds), 1);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    bed_destroy(&b);
}

static void destroy_gives_commands_their_grace(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "bash", "{\"deaf\":true,\"ms\":400}");
    assert_false(pump(&b, 200));
    run_destroy(b.run);
    b.run = NULL;
    assert_has(buf_cstr(&box.order), "a-");
    bed_destroy(&b);
    run_destroy(NULL);
}

static void waits_for_the_file_in_other_runners(void **state)
{
    (void)state;
    struct bed b;
    struct mutation_ticket *ticket = NULL;
    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\"}");
    assert_false(pump(&b, 200));
    assert_string_equal(buf_cstr(&box.order), "");
    assert_string_equal(buf_cstr(&b.events), "a( ");
    mutation_leave(ticket);
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "a+ a- ");

    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    add(&b, "b", "edit", "{\"key\":\"x\"}");
    assert_false(pump(&b, 30));
    cancel_set(b.cancel);
    assert_true(pump(&b, 1000));
    assert_has(text_of(&b, 1), "nothing was changed");
    mutation_leave(ticket);
    bed_destroy(&b);
}

static void abort_at_any_time(void **state)
{
    (void)state;
    unsigned seed = 12345;
    for (int i = 0; i < 1000; i++) {
        struct bed b;
        bed_create(&b, i % 3 != 0);
        b.asks = i % 5 == 0 ? "c" : NULL;
        add(&b, "a", "edit", "{\"key\":\"x\",\"ms\":1}");
        add(&b, "b", "edit", "{\"key\":\"x\",\"updates\":3}");
        add(&b, "c", "read", "{\"key\":\"y\",\"ms\":1}");
        add_after(&b, "d", "read", "{\"plan_ms\":1}", i % 4);
        add(&b, "e", "bash", "{\"ms\":2}");
        add(&b, "f", "nothing", "{}");
        add(&b, "g", "par", "{\"deaf\":true,\"ms\":1}");
        b.abort_at_ms = clock_mono_ms() + (int)(seed = seed * 1103515245 + 12345) % 7;
        if (i % 7 != 6) {
            assert_true(pump(&b, 5000));
            for (size_t k = 0; k < run_len(b.run); k++) {
                char end[4] = {(char)('a' + k), ')', 0, 0};
                const char *at = strstr(buf_cstr(&b.events), end);
                assert_non_null(at);
                assert_null(strstr(at + 1, end));
                assert_true(run_result(b.run, k)->content.len == 1);
            }
        } else {
            (void)pump(&b, i % 5);
        }
        bed_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_run_side_by_side_and_results_keep_their_order),
        cmocka_unit_test(failures_before_the_start_end_at_once),
        cmocka_unit_test(changes_of_one_file_run_in_call_order),
        cmocka_unit_test(a_read_after_a_change_of_the_same_file_sees_it),
        cmocka_unit_test(commands_and_sequential_tools_are_barriers),
        cmocka_unit_test(a_parallel_tool_without_a_plan_is_no_barrier),
        cmocka_unit_test(reads_do_not_wait_for_a_plan_that_hangs),
        cmocka_unit_test(without_barriers_only_files_keep_an_order),
        cmocka_unit_test(a_large_batch_is_run_in_parts),
        cmocka_unit_test(errors_become_results),
        cmocka_unit_test(tool_threads_leave_signals_to_the_process),
        cmocka_unit_test(a_question_blocks_only_what_must_wait),
        cmocka_unit_test(a_refused_call_tells_the_reason),
        cmocka_unit_test(abort_withdraws_a_question),
        cmocka_unit_test(abort_ends_what_runs_and_starts_nothing_more),
        cmocka_unit_test(one_call_can_be_aborted_alone),
        cmocka_unit_test(a_thread_that_does_not_hear_is_left_to_itself),
        cmocka_unit_test(late_notes_do_nothing),
        cmocka_unit_test(a_thread_inside_the_kernel_outlives_its_runner),
        cmocka_unit_test(destroy_gives_commands_their_grace),
        cmocka_unit_test(waits_for_the_file_in_other_runners),
        cmocka_unit_test(abort_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
