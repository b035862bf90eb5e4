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

// Commands such as aws and huggingface-cli need them, and no provider here does.
static void test_general_credentials_stay(void **state)
{
    (void)state;
    const char *const list[] = {"AWS_ACCESS_KEY_ID=1",        "AWS_SECRET_ACCESS_KEY=2",
                                "AWS_SESSION_TOKEN=3",        "HF_TOKEN=4",
                                "AWS_BEARER_TOKEN_BEDROCK=5", NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    auth_remove_keys(&e);
    assert_int_equal(e.len, 5);
    env_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_removed_and_others_stay),
        cmocka_unit_test(test_general_credentials_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
