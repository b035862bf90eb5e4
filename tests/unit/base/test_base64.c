#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"

static void encodes_each_length(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *base64;
    } rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe\xfd", "//79"},
        {"\xfb\xef\xbe", "++++"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = {0};
        base64_add(&b, sv_of(rows[i].bytes));
        assert_string_equal(buf_cstr(&b), rows[i].base64);
        assert_int_equal(b.len, base64_size(sv_of(rows[i].bytes).n));
        buf_finish(&b);
    }
}

static void knows_its_digits(void **state)
{
    (void)state;
    int n = 0;
    for (int c = 0; c < 256; c++) {
        n += base64_digit((char)c) >= 0;
    }
    assert_int_equal(n, 64);
    assert_int_equal(base64_digit('A'), 0);
    assert_int_equal(base64_digit('/'), 63);
    assert_int_equal(base64_digit('='), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_each_length),
        cmocka_unit_test(knows_its_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
