#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/auth.h"

static void test_keys_are_removed_and_others_stay(void **state)
{
    (void)state;
    const char *const list[] = {"ANTHROPIC_API_KEY=1", "ANTHROPIC_OAUTH_TOKEN=2",
                                "OPENAI_API_KEY=3",    "PATH=/bin",
                                "GEMINI_API_KEY=4",    "MY_API_KEY=mine",
                                "OPENAI_API_KEYS=5",   NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    auth_remove_keys(&e);
    assert_int_equal(e.len, 3);
    assert_string_equal(env_get(&e, "PATH"), "/bin");
    assert_string_equal(env_get(&e, "MY_API_KEY"), "mine");
    assert_string_equal(env_get(&e, "OPENAI_API_KEYS"), "5");
    env_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_removed_and_others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
