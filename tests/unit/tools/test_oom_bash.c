#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oom.h"
#include "sys/process.h"
#include "tool_fixture.h"
#include "tools.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks),
// and a result that comes must be whole.

static void ignore(const struct tool_call *call, const struct tool_update *update)
{
    (void)call;
    (void)update;
}

static void check(struct tool_fixture *f, const char *command, const char *wanted)
{
    struct env env;
    assert_int_equal(env_copy(&env, NULL, NULL), PI_OK);
    f->context.environment = &env;
    f->context.guard_path = getenv("PI_GUARD");
    f->context.temp_dir = f->dir;
    f->call = (struct tool_call){.context = &f->context, .progress = ignore};
    f->call.args = json_new_object();
    assert_true(json_set_str(f->call.args, "command", command));
    bool failed = true;
    size_t told = 0;
    for (size_t n = 1; failed; n++) {
        struct tool_result result = {0};
        struct pi_error err = {0};
        oom_start(n);
        enum pi_status status = tool_bash.execute(&result, &f->call, &err);
        failed = oom_stop();
        told += status == PI_NOMEM;
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        if (status == PI_OK) {
            buf_clear(&f->text);
            content_text(&result.content, &f->text);
            assert_non_null(strstr(buf_cstr(&f->text), wanted));
        }
        tool_result_finish(&result);
    }
    assert_true(told > 10);
    json_destroy(f->call.args);
    f->call.args = NULL;
    env_finish(&env);
}

static void test_small(void **state)
{
    check(*state, "echo one; exit 4", "one\n\nCommand exited with code 4");
}

static void test_large(void **state)
{
    check(*state, "seq 2500",
          "2499\n2500\n\n[Showing lines 501-2500 of 2500. Full output: ");
}

static void test_background(void **state)
{
    struct tool_fixture *f = *state;
    assert_int_equal(process_jobs_create(&f->context.jobs, NULL), PI_OK);
    // Without memory for the job it is ended, which the result then does not name.
    check(f, "sleep 30 >/dev/null 2>&1 & echo bg", "bg\n");
    process_jobs_destroy(f->context.jobs);
}

static void test_jobs(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct process_jobs *jobs = NULL;
        oom_start(n);
        enum pi_status status = process_jobs_create(&jobs, NULL);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        process_jobs_destroy(jobs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_large, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_background, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
