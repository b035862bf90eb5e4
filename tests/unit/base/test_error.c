#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8_scan.h"

static bool valid(const char *text)
{
    return utf8_scan_run(sv_of(text)) == strlen(text);
}

static void test_set(void **state)
{
    (void)state;
    struct pi_error err = {0};
    assert_int_equal(error_set(&err, PI_INVALID, "bad %s", "thing"), PI_INVALID);
    assert_int_equal(err.code, PI_INVALID);
    assert_string_equal(err.message, "bad thing");
    assert_int_equal(error_set(NULL, PI_LIMIT, "x"), PI_LIMIT);
}

static void test_message_may_quote_itself(void **state)
{
    (void)state;
    struct pi_error err = {0};
    error_set(&err, PI_IO, "inner");
    error_set(&err, PI_IO, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

static void test_long_text_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[2000];
    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'x', sizeof text);
        for (size_t i = (size_t)shift; i + 4 < sizeof text; i += 4) {
            memcpy(text + i, "\xf0\x9f\x98\x80", 4);
        }
        text[sizeof text - 1] = '\0';
        struct pi_error err = {0};
        error_set(&err, PI_IO, "%s", text);
        size_t n = strlen(err.message);
        assert_true(n > 500);
        assert_true(valid(err.message));
        assert_string_equal(err.message + n - 3, "...");
        assert_memory_equal(err.message, text, n - 3);
    }
}

static void test_bytes_that_are_not_utf8(void **state)
{
    (void)state;
    struct pi_error err = {0};
    error_set(&err, PI_IO, "a\xff\xc3+\xe2\x82");
    assert_string_equal(err.message, "a\?\?+\?\?");
}

static void test_errno(void **state)
{
    (void)state;
    struct pi_error err = {0};
    assert_int_equal(error_errno(&err, ENOENT, "open %s", "f"), PI_NOT_FOUND);
    assert_string_equal(err.message, "open f: No such file or directory");
    assert_int_equal(error_errno(NULL, EACCES, "x"), PI_DENIED);
    assert_int_equal(error_errno(NULL, ENOMEM, "x"), PI_NOMEM);
    assert_int_equal(error_errno(&err, 99999, "x"), PI_IO);
    assert_string_equal(err.message, "x: Unknown error 99999");
    char text[2000];
    memset(text, 'p', sizeof text);
    text[sizeof text - 1] = '\0';
    error_errno(&err, EACCES, "%s", text);
    assert_non_null(strstr(err.message, "...: Permission denied"));
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(error_errno_name(ENOENT), "ENOENT");
    assert_string_equal(error_errno_name(0), "");
    assert_string_equal(error_errno_name(99999), "");
    for (int s = PI_OK; s <= PI_UNSUPPORTED; s++) {
        assert_string_not_equal(pi_status_name((enum pi_status)s), "unknown status");
    }
    assert_string_equal(pi_status_name((enum pi_status)999), "unknown status");
    assert_string_equal(pi_version(), PI_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_message_may_quote_itself),
        cmocka_unit_test(test_long_text_is_cut_at_a_character),
        cmocka_unit_test(test_bytes_that_are_not_utf8),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
