#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/refusal.h"

static void expect_hidden(const char *words, const char *const *lines, const char *want)
{
    struct buf b = {0};
    buf_adds(&b, words);
    refusal_hide_headers(&b, lines);
    assert_string_equal(buf_cstr(&b), want);
    buf_finish(&b);
}

static void keys_are_hidden(void **state)
{
    (void)state;
    const char *const lines[] = {"content-type: application/json",
                                 "Authorization: Bearer sk-12345",
                                 "X-Api-Key: abcdef",
                                 "X-Title: wonderful",
                                 "no colon",
                                 "token: abc",
                                 NULL};
    expect_hidden("", lines, "");
    expect_hidden("bad sk-12345!", lines, "bad [key]!");
    expect_hidden("sk-12345sk-12345", lines, "[key][key]");
    expect_hidden("got Bearer sk-12345", lines, "got [key]");
    expect_hidden("abcdef is application/json", lines, "[key] is application/json");
    expect_hidden("wonderful abc", lines, "wonderful abc"); // too short to be a key
    expect_hidden("x", NULL, "x");
}

static void redirects_name_their_target(void **state)
{
    (void)state;
    struct buf b = {0};
    refusal_tell_redirect(&b, "h", 307, "http://a:b@c/d?key=e");
    assert_string_equal(buf_cstr(&b), "h answered 307: moved to http://c/d; correct the "
                                      "base URL of this model");
    buf_clear(&b);
    refusal_tell_redirect(&b, "h", 307, NULL);
    assert_string_equal(
        buf_cstr(&b),
        "h answered 307: moved elsewhere; correct the base URL of this model");
    buf_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_hidden),
        cmocka_unit_test(redirects_name_their_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
