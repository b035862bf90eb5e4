#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "sys/clock.h"
#include "tool/run.h"
#include "tool_fixture.h"
#include "tools.h"

// wrap: open

// The real tools on a file system that does not answer: open() sleeps.

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

static atomic_bool asleep;

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    while (strstr(path, "dead") && atomic_load(&asleep)) {
        poll(NULL, 0, 1);
    }
    return __real_open(path, flags, mode);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct run_note *notes;
static atomic_int holds;

static void post(void *data, struct run_note *note)
{
    (void)data;
    pthread_mutex_lock(&lock);
    *run_note_link(note) = notes;
    notes = note;
    pthread_mutex_unlock(&lock);
}

static struct run_note *take(void)
{
    pthread_mutex_lock(&lock);
    struct run_note *note = notes;
    notes = note ? *run_note_link(note) : NULL;
    pthread_mutex_unlock(&lock);
    return note;
}

static void hold(void *data)
{
    (void)data;
    atomic_fetch_add(&holds, 1);
}

static void let_go(void *data)
{
    (void)data;
    atomic_fetch_sub(&holds, 1);
}

static enum run_verdict judge(void *data, const struct tool_call *call,
                              struct pi_error *err)
{
    (void)data;
    (void)call;
    (void)err;
    return RUN_ALLOW;
}

static void heard(void *data, const struct tool_call *call)
{
    (void)data;
    (void)call;
}

static void updated(void *data, const struct tool_call *call, struct sv text)
{
    (void)data;
    (void)call;
    (void)text;
}

static void ended(void *data, const struct tool_call *call, struct tool_result *result)
{
    (void)data;
    (void)call;
    (void)result;
}

static void add(struct run *run, const char *id, const char *name, const char *args)
{
    const struct run_request request = {.id = id,
                                        .name = name,
                                        .arguments = sv_of(args),
                                        .complete = true,
                                        .abort_after_ms = -1};
    assert_int_equal(run_add(run, &request, NULL), PI_OK);
}

static bool pump(struct run *run, int ms)
{
    int64_t until = clock_mono_ms() + ms;
    int wait_ms;
    while (run_step(run, &wait_ms) == PI_MORE) {
        if (clock_mono_ms() >= until) {
            return false;
        }
        poll(NULL, 0, 1);
        for (struct run_note *n = take(); n; n = take()) {
            run_take(run, n);
        }
    }
    return true;
}

static const char *text_of(struct run *run, size_t i)
{
    return buf_cstr(&run_result(run, i)->content.blocks[0].text);
}

static void a_dead_mount_holds_nobody_up(void **state)
{
    struct tool_fixture *f = *state;
    static const struct pi_tool_definition *const definitions[] = {&tool_read,
                                                                   &tool_write};
    struct registry registry;
    struct cancel *cancel = NULL;
    struct run *run = NULL;
    struct run_port port = {.post = post,
                            .hold = hold,
                            .let_go = let_go,
                            .judge = judge,
                            .ask = heard,
                            .ask_end = heard,
                            .started = heard,
                            .updated = updated,
                            .ended = ended};
    fixture_put(f, "dead.txt", sv_of("old\n"));
    fixture_put(f, "live.txt", sv_of("alive\n"));
    assert_int_equal(registry_init(&registry, definitions, 2, NULL), PI_OK);
    assert_int_equal(registry_set_active(&registry, "all", NULL), PI_OK);
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    assert_int_equal(run_create(&run, &registry, &f->context, &port, cancel, true, NULL),
                     PI_OK);
    atomic_store(&asleep, true);
    add(run, "a", "read", "{\"path\":\"dead.txt\"}");
    add(run, "b", "read", "{\"path\":\"live.txt\"}");
    add(run, "c", "write", "{\"path\":\"dead.txt\",\"content\":\"new\\n\"}");
    assert_false(pump(run, 100));
    cancel_set(cancel);
    int64_t then = clock_mono_ms();
    assert_true(pump(run, 2000));
    assert_true(clock_mono_ms() - then < 500);
    assert_non_null(strstr(text_of(run, 0), "file system does not respond"));
    assert_non_null(strstr(text_of(run, 1), "alive"));
    assert_true(run_result(run, 2)->is_error);
    run_destroy(run);

    assert_true(atomic_load(&holds) > 0);
    atomic_store(&asleep, false);
    for (int i = 0; i < 3000 && atomic_load(&holds) > 0; i++) {
        poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&holds), 0);
    for (struct run_note *n = take(); n; n = take()) {
        assert_null(run_note_owner(n));
        run_note_drop(n);
    }
    fixture_expect(f, "dead.txt", sv_of("old\n"));
    cancel_unref(cancel);
    registry_finish(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dead_mount_holds_nobody_up, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
