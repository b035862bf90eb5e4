#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "sys/env.h"

static void test_copy_of_a_list(void **state)
{
    (void)state;
    const char *const list[] = {"A=1", "B=", "C", "=odd", "A=2", "C=hidden", NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    assert_int_equal(e.len, 2);
    assert_string_equal(env_get(&e, "A"), "1");
    assert_string_equal(env_get(&e, "B"), "");
    assert_null(env_get(&e, "C"));
    assert_null(e.vars[2]);
    env_finish(&e);
    assert_null(e.vars);
}

static void test_copy_of_the_process(void **state)
{
    (void)state;
    setenv("PI_TEST_ENV", "here", 1);
    struct env e;
    assert_int_equal(env_copy(&e, NULL, NULL), PI_OK);
    assert_string_equal(env_get(&e, "PI_TEST_ENV"), "here");
    assert_true(env_set(&e, "PI_TEST_ENV", "changed"));
    assert_string_equal(getenv("PI_TEST_ENV"), "here");
    env_finish(&e);
    env_finish(NULL);
}

static void test_set_replaces_and_grows(void **state)
{
    (void)state;
    struct env e = {0};
    assert_null(env_get(&e, "K"));
    for (int i = 0; i < 100; i++) {
        char name[2] = {(char)(' ' + 1 + i % 90), 0};
        if (name[0] != '=') {
            assert_true(env_set(&e, name, i < 90 ? "old" : "new"));
        }
    }
    assert_int_equal(e.len, 89);
    assert_string_equal(env_get(&e, "!"), "new");
    assert_string_equal(env_get(&e, "z"), "old");
    assert_null(e.vars[e.len]);
    env_finish(&e);
}

static void test_unset(void **state)
{
    (void)state;
    const char *const list[] = {"AB=1",
                                "A=2",
                                "BASH_FUNC_x%%=() { :; }",
                                "BASH_FUNC=3",
                                "BASH_FUNC_y%%=() { :; }",
                                NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    env_unset(&e, "A");
    env_unset(&e, "absent");
    env_unset_prefix(&e, "BASH_FUNC_");
    assert_int_equal(e.len, 2);
    assert_string_equal(e.vars[0], "AB=1");
    assert_string_equal(e.vars[1], "BASH_FUNC=3");
    assert_null(e.vars[2]);
    env_unset(&e, "AB");
    env_unset(&e, "BASH_FUNC");
    assert_int_equal(e.len, 0);
    env_unset(&e, "AB");
    env_finish(&e);
}

static void test_prefix_does_not_match_values(void **state)
{
    (void)state;
    const char *const list[] = {"A=B_1", NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    env_unset_prefix(&e, "A=B_");
    assert_int_equal(e.len, 1);
    env_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_of_a_list),
        cmocka_unit_test(test_copy_of_the_process),
        cmocka_unit_test(test_set_replaces_and_grows),
        cmocka_unit_test(test_unset),
        cmocka_unit_test(test_prefix_does_not_match_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
