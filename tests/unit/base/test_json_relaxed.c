#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_relaxed.h"

static void expect(const char *text, const char *relaxed)
{
    char copy[256];
    size_t n = strlen(text);
    assert_true(n < sizeof(copy));
    memcpy(copy, text, n + 1);
    json_relax(copy, n);
    assert_string_equal(copy, relaxed);
    assert_int_equal(strlen(copy), n);
}

static void test_relax(void **state)
{
    (void)state;
    expect("", "");
    expect("{}", "{}");
    expect("[1, 2,]", "[1, 2 ]");
    expect("{\"a\": 1, // one\n}", "{\"a\": 1        \n}");
    expect("// only", "       ");
    expect("[1, // x\n // y\n]", "[1      \n     \n]");
    expect("[\"a\",]", "[\"a\" ]");
    expect("\xEF\xBB\xBF{}", "   {}");
}

static void test_strings_stay(void **state)
{
    (void)state;
    expect("[\"http://x\"]", "[\"http://x\"]");
    expect("[\"a\\\"//,]\"]", "[\"a\\\"//,]\"]");
    expect("[\"\\\\\", 1,]", "[\"\\\\\", 1 ]");
    expect("[\"open //", "[\"open //");
    expect("[\"end\\", "[\"end\\");
}

static void test_mistakes_stay(void **state)
{
    (void)state;
    expect("[,]", "[,]");
    expect("[1,,]", "[1,,]");
    expect("{\"a\":,}", "{\"a\":,}");
    expect("[1 / 2]", "[1 / 2]");
    expect("[1,", "[1,");
}

static void test_parse(void **state)
{
    (void)state;
    struct json *j = NULL;
    struct sv text = sv_of("// settings\n{\n  \"a\": [1, 2,], // two\n}\n");
    assert_int_equal(json_parse_relaxed(&j, text, NULL, NULL), PI_OK);
    assert_int_equal(json_len(json_get(j, "a")), 2);
    json_destroy(j);
}

static void test_errors_name_the_line(void **state)
{
    (void)state;
    struct json *j = NULL;
    struct pi_error err = {0};
    struct sv text = sv_of("{\n  // fine\n  \"a\": oops\n}\n");
    assert_int_equal(json_parse_relaxed(&j, text, NULL, &err), PI_INVALID);
    assert_null(j);
    assert_non_null(strstr(err.message, "line 3, column 8:"));
    assert_int_equal(json_parse_relaxed(&j, sv_of(""), NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "line 1, column 1:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax),
        cmocka_unit_test(test_strings_stay),
        cmocka_unit_test(test_mistakes_stay),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_errors_name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
