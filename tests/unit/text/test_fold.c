#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "text/fold.h"

static void check(uint32_t code, const char *ascii)
{
    uint32_t out[FOLD_MAX];
    size_t n = fold_char(code, out);
    assert_int_equal(n, strlen(ascii));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(out[i], (unsigned char)ascii[i]);
    }
}

static void test_signs(void **state)
{
    (void)state;
    check('a', "a");
    check(0x2018, "'");
    check(0x201B, "'");
    check(0x201C, "\"");
    check(0x201F, "\"");
    check(0x2010, "-");
    check(0x2011, "-");
    check(0x2015, "-");
    check(0x2212, "-");
    check(0xA0, " ");
    check(0x2002, " ");
    check(0x200A, " ");
    check(0x202F, " ");
    check(0x3000, " ");
    check('\t', "\t");
}

static void test_forms(void **state)
{
    (void)state;
    check(0xFB01, "fi");
    check(0x2026, "...");
    check(0xFF21, "A");
    uint32_t out[FOLD_MAX];
    assert_int_equal(fold_char(0xE9, out), 2); // e and an acute accent
    assert_int_equal(out[0], 'e');
    assert_int_equal(out[1], 0x301);
    assert_int_equal(fold_char(0xFDFA, out), 18);
    assert_int_equal(fold_char(0x416, out), 1); // a letter that looks like no other
    assert_int_equal(out[0], 0x416);
    assert_int_equal(fold_char(0x10FFFF, out), 1);
}

static void test_every_code_point_fits(void **state)
{
    (void)state;
    uint32_t out[FOLD_MAX];
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        size_t n = fold_char(code, out);
        assert_in_range(n, 1, FOLD_MAX);
    }
}

static void test_blanks(void **state)
{
    (void)state;
    assert_true(fold_is_blank(' '));
    assert_true(fold_is_blank('\t'));
    assert_true(fold_is_blank(0xA0));
    assert_true(fold_is_blank(0x3000));
    assert_true(fold_is_blank(0xFEFF));
    assert_false(fold_is_blank('\n'));
    assert_false(fold_is_blank('\r'));
    assert_false(fold_is_blank(0x2028));
    assert_false(fold_is_blank('x'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_every_code_point_fits),
        cmocka_unit_test(test_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
