#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "llm/auth_names.h"

static void note(void *data, const char *name, const char *value)
{
    buf_addf(data, "%s=%s\n", name, value);
}

static void test_keys_are_found_and_others_are_not(void **state)
{
    (void)state;
    const char *const list[] = {"ANTHROPIC_API_KEY=1", "ANTHROPIC_OAUTH_TOKEN=2",
                                "OPENAI_API_KEY=3",    "PATH=/bin",
                                "GEMINI_API_KEY=4",    "MY_API_KEY=mine",
                                "OPENAI_API_KEYS=5",   "AWS_SECRET_ACCESS_KEY=6",
                                "HF_TOKEN=7",          NULL};
    struct env e;
    struct buf seen = {0};
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    auth_visit_keys(&e, note, &seen);
    assert_string_equal(buf_cstr(&seen), "ANTHROPIC_API_KEY=1\nANTHROPIC_OAUTH_TOKEN=2\n"
                                         "OPENAI_API_KEY=3\nGEMINI_API_KEY=4\n");
    buf_finish(&seen);
    env_finish(&e);
}

static void test_variables_of_a_provider(void **state)
{
    (void)state;
    assert_string_equal(auth_variable("moonshotai", 0), "MOONSHOT_API_KEY");
    assert_null(auth_variable("moonshotai", 1));
    assert_string_equal(auth_variable("google", 1), "GOOGLE_API_KEY");
    assert_null(auth_variable("nobody", 0));
}

// Whatever the file looks like, only keys and values of headers count.
static void test_names_in_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *seen;
    } cases[] = {
        {"{\"providers\":{\"p\":{\"apiKey\":\"MINE\",\"name\":\"HOME\"}}}", "MINE=m\n"},
        {"{\"p\":{\"type\":\"api_key\",\"key\" :\n \"MINE\"}}", "MINE=m\n"},
        {"{\"headers\":{\"X-A\":\"MINE\",\"HOME\":\"x\"},\"id\":\"HOME\"}", "MINE=m\n"},
        {"{\"headers\":{\"X\":{\"Y\":\"MINE\"}},\"a\":\"HOME\"}", "MINE=m\n"},
        {"// \"apiKey\":\"HOME\"\n{\"apiKey\": // \"HOME\"\n\"MINE\"}", "MINE=m\n"},
        {"{\"apiKey\":\"!echo $MINE\",\"baseUrl\":\"http://h/\"}", ""},
        {"{\"apiKey\":[\"MINE\"],\"x\":\"apiKey\",\"y\":\"MINE\"}", ""},
        {"{\"apiKey\":\"NOT_SET\"}", ""},
        {"{\"apiKey\":\"MI", ""},
        {"\"apiKey\":\"MINE", "MINE=m\n"},
        {"{\"a\\\"\":1,\"apiKey\":\"MINE\"", "MINE=m\n"},
        {"}}}]]\"apiKey\":\"MINE\"", "MINE=m\n"},
        {"\"apiKey\":\"MINE\\", ""},
        {"", ""},
    };
    const char *const list[] = {"MINE=m", "HOME=h", NULL};
    struct env e;
    assert_int_equal(env_copy(&e, list, NULL), PI_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf seen = {0};
        auth_visit_named(&e, sv_of(cases[i].text), note, &seen);
        if (strcmp(buf_cstr(&seen), cases[i].seen) != 0) {
            fail_msg("%s: %s", cases[i].text, buf_cstr(&seen));
        }
        buf_finish(&seen);
    }
    env_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_found_and_others_are_not),
        cmocka_unit_test(test_variables_of_a_provider),
        cmocka_unit_test(test_names_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
