#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/regex.h"

// The matches of the text as "1-3,5-6".
static void search(const char *pattern, unsigned flags, struct sv text, const char *want)
{
    struct regex *r = NULL;
    struct regex_matcher *m = NULL;
    struct regex_match match;
    char got[256] = "";
    size_t from = 0;
    assert_int_equal(regex_create(&r, sv_of(pattern), flags, NULL), PI_OK);
    assert_int_equal(regex_matcher_create(&m, r, NULL), PI_OK);
    while (from <= text.n && regex_search(m, text, from, &match, NULL) == PI_OK) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%zu-%zu", n ? "," : "", match.start,
                 match.end);
        from = match.end > match.start ? match.end : match.end + 1;
    }
    assert_string_equal(got, want);
    regex_matcher_destroy(m);
    regex_destroy(r);
}

static void finds(void **state)
{
    (void)state;
    search("a+", 0, sv_of("xaay a"), "1-3,5-6");
    search("^b$", 0, sv_of("a\nb\nc"), "2-3");
    search("foo{", 0, sv_of("foo{"), "0-4"); // braces that other engines refuse
    search("-x", 0, sv_of("a -x"), "2-4");
    search("(?<=a)b", 0, sv_of("ab bb"), "1-2");
    search("\\w+", 0, sv_of("\xc3\xa9t\xc3\xa9"), "0-5");
    search("\xc3\x89", REGEX_IGNORE_CASE, sv_of("\xc3\xa9"), "0-2");
    search("none", 0, sv_of(""), "");
}

static void literal_text_is_taken_as_it_is(void **state)
{
    (void)state;
    search("a.b(", REGEX_LITERAL, sv_of("axb( a.b("), "5-9");
    search("A.B", REGEX_LITERAL | REGEX_IGNORE_CASE, sv_of("a.b"), "0-3");
}

static void bytes_that_are_no_utf8_do_not_hurt(void **state)
{
    (void)state;
    search("b", 0,
           sv_of("\xff\xfe"
                 "b\xc3"),
           "2-3");
    search(".", 0, sv_of("\xff"), "");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    struct regex *r = NULL;
    struct pi_error err;
    static const char *const bad[] = {"a(", "[z", "*x", "\\", "(?<n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(regex_create(&r, sv_of(bad[i]), 0, &err), PI_INVALID);
        assert_non_null(strstr(err.message, "at byte"));
    }
}

static void too_complex_is_not_no_match(void **state)
{
    (void)state;
    struct regex *r = NULL;
    struct regex_matcher *m = NULL;
    struct regex_match match;
    struct pi_error err;
    char text[4000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 2] = '!';
    text[sizeof text - 1] = '\0';
    assert_int_equal(regex_create(&r, sv_of("(a|aa)+$"), 0, &err), PI_OK);
    assert_int_equal(regex_matcher_create(&m, r, &err), PI_OK);
    assert_int_equal(regex_search(m, sv_of(text), 0, &match, &err), PI_LIMIT);
    regex_matcher_destroy(m);
    regex_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(literal_text_is_taken_as_it_is),
        cmocka_unit_test(bytes_that_are_no_utf8_do_not_hurt),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(too_complex_is_not_no_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
