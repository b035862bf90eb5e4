#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "utf16.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

// Whole and a byte at a time.
static void expect(struct sv bytes, bool big_endian, const char *text)
{
    for (size_t step = 1; step <= bytes.n + 1; step += bytes.n) {
        struct utf16_stream u = {.big_endian = big_endian};
        struct buf out = {0};
        for (size_t i = 0; i < bytes.n; i += step) {
            size_t n = bytes.n - i < step ? bytes.n - i : step;
            utf16_feed(&u, &out, sv_make(bytes.p + i, n));
        }
        utf16_end(&u, &out);
        assert_string_equal(buf_cstr(&out), text);
        buf_finish(&out);
        if (bytes.n == 0) {
            break;
        }
    }
}

static void test_units(void **state)
{
    (void)state;
    expect(SV(""), false, "");
    expect(SV("a\0\n\0"), false, "a\n");
    expect(SV("\0a\0\n"), true, "a\n");
    expect(SV("\xe9\0\x2d\x4e"), false, "é中");
    expect(SV("\xff\xfe"), false, "\xEF\xBB\xBF");
}

static void test_pairs(void **state)
{
    (void)state;
    expect(SV("\x3d\xd8\x00\xde"), false, "😀");
    expect(SV("\xd8\x3d\xde\x00"), true, "😀");
}

static void test_broken(void **state)
{
    (void)state;
    expect(SV("\x3d\xd8"
              "a\0"),
           false, "\uFFFDa");
    expect(SV("\x3d\xd8\x3d\xd8\x00\xde"), false, "\uFFFD😀");
    expect(SV("\x00\xde"
              "a\0"),
           false, "\uFFFDa");
    expect(SV("a\0\x3d\xd8"), false, "a\uFFFD");
    expect(SV("a\0b"), false, "a\uFFFD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
