#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edit_plan.h"
#include "oom.h"
#include "tool_fixture.h"
#include "tools.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks),
// and what is told must be true.

static void check_plan(const char *text, const struct edit_request *edits, size_t len,
                       enum pi_status wanted)
{
    bool failed = true;
    size_t told = 0;
    for (size_t n = 1; failed; n++) {
        struct edit_plan plan = {0};
        oom_start(n);
        enum pi_status st =
            edit_plan_make(&plan, sv_of(text), "f", edits, len, NULL, NULL);
        failed = oom_stop();
        assert_true(st == wanted || (failed && st == PI_NOMEM));
        told += st == PI_NOMEM;
        if (st == PI_OK) {
            assert_true(plan.changes.len > 0);
        }
        edit_plan_finish(&plan);
    }
    assert_true(told > 0);
}

static void test_plan(void **state)
{
    (void)state;
    struct edit_request edits[] = {
        {sv_of("one\ntwo\nthree\nfour"), sv_of("1\ntwo\n3\nfour\nfive")},
        {sv_of("say \"hi\" - now"), sv_of("say \"hi\" - later")},
        {sv_of("6|six\n7|seven"), sv_of("6|SIX\n7|seven")},
    };
    check_plan("one\r\ntwo\nthree\r\nfour\nsay “hi” – now\nsix\nseven\n", edits, 3,
               PI_OK);
}

static void test_problems(void **state)
{
    (void)state;
    struct edit_request ambiguous = {sv_of("a"), sv_of("b")};
    check_plan("a\na\na\n", &ambiguous, 1, PI_INVALID);
    struct edit_request missing = {sv_of("one\n  two\nthree"), sv_of("x")};
    check_plan("one\n\ttwo\nthree\n", &missing, 1, PI_INVALID);
    struct edit_request similar = {sv_of("call(first, second);"), sv_of("x")};
    check_plan("x\ncall(first, third);\n", &similar, 1, PI_INVALID);
}

static void test_tool(void **state)
{
    struct tool_fixture *f = *state;
    struct pi_error err;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        fixture_put(f, "a.txt", sv_of("one\ntwo\n"));
        struct tool_result result = {0};
        struct tool_call call = {.name = "edit", .context = &f->context};
        const char *args =
            "{\"path\":\"a.txt\",\"edits\":\"[{\\\"oldText\\\":\\\"two\\\","
            "\\\"newText\\\":\\\"2\\\"}]\",\"oldText\":\"one\","
            "\"newText\":\"1\"}";
        assert_int_equal(json_parse(&call.args, sv_of(args), NULL, NULL), PI_OK);
        oom_start(n);
        enum pi_status st = tool_edit.prepare(&call.args, &err);
        if (st == PI_OK) {
            st = tool_edit.plan(&call.plan, call.args, &f->context, &err);
        }
        // The validator has its say between; it would refuse what could not be repaired.
        if (st == PI_OK && json_len(json_get(call.args, "edits")) == 2) {
            st = tool_edit.execute(&result, &call, &err);
        } else if (st == PI_OK) {
            st = PI_NOMEM;
        }
        failed = oom_stop();
        bool made = st == PI_OK && !result.is_error;
        fixture_expect(f, "a.txt", sv_of(made ? "1\n2\n" : "one\ntwo\n"));
        assert_true(made || failed);
        tool_result_finish(&result);
        tool_plan_finish(&call.plan);
        json_destroy(call.args);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_problems),
        cmocka_unit_test_setup_teardown(test_tool, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
