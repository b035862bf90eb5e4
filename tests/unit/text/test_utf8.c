#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *in;
    const char *out;
} repairs[] = {
    {"", ""},
    {"abc", "abc"},
    {"\x80", FFFD},
    {"\xff\xfe", FFFD FFFD},
    {"\xc0\x80", FFFD FFFD},                   // overlong
    {"\xc1\xbf", FFFD FFFD},                   // overlong
    {"\xc2", FFFD},                            // cut
    {"\xe2\x82", FFFD},                        // cut: one maximal subpart
    {"\xe2\x82x", FFFD "x"},                   //
    {"\xe0\x80\x80", FFFD FFFD FFFD},          // overlong
    {"\xe0\x9f\xbf", FFFD FFFD FFFD},          // overlong
    {"\xed\xa0\x80", FFFD FFFD FFFD},          // surrogate
    {"\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD}, // overlong
    {"\xf0\x9f\x98", FFFD},                    // cut
    {"\xf0\x9f\x98\xf0\x9f\x98\x80", FFFD "\xf0\x9f\x98\x80"},
    {"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD}, // above U+10FFFF
    {"\xf5\x80\x80\x80", FFFD FFFD FFFD FFFD}, // never a lead byte
    {"a\xe2\x82\xac"
     "b\xc3(\xc3\xa9",
     "a\xe2\x82\xac"
     "b" FFFD "(\xc3\xa9"},
    {"0123456789012345678901234567890123456789\xff"
     "0123456789",
     "0123456789012345678901234567890123456789" FFFD "0123456789"},
};

static void test_repair(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof repairs / sizeof repairs[0]; i++) {
        struct buf b = {0};
        utf8_repair(&b, sv_of(repairs[i].in));
        assert_string_equal(buf_cstr(&b), repairs[i].out);
        assert_int_equal(utf8_valid(sv_of(repairs[i].in)),
                         strcmp(repairs[i].in, repairs[i].out) == 0);
        buf_finish(&b);
    }
}

static void check_stream(const char *in, const char *want, size_t step)
{
    struct utf8_stream u = {0};
    struct buf b = {0};
    for (struct sv rest = sv_of(in); rest.n; rest = sv_from(rest, step)) {
        utf8_stream_feed(&u, &b, sv_make(rest.p, rest.n < step ? rest.n : step));
    }
    utf8_stream_end(&u, &b);
    assert_string_equal(buf_cstr(&b), want);
    buf_finish(&b);
}

static void test_stream_in_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof repairs / sizeof repairs[0]; i++) {
        for (size_t step = 1; step <= 5; step++) {
            check_stream(repairs[i].in, repairs[i].out, step);
        }
    }
}

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        struct buf b = {0};
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        if (code > 0x3000 && code < 0xd7f0) {
            continue; // all alike, and this test should be quick
        }
        utf8_put(&b, code);
        struct sv s = buf_sv(&b);
        assert_int_equal(utf8_sequence(s), b.len);
        assert_int_equal(utf8_next(&s), surrogate ? 0xfffd : code);
        assert_int_equal(s.n, 0);
        buf_finish(&b);
        if (code > 0x10400 && code < 0x10fff0) {
            code += 0xff;
        }
    }
    struct buf b = {0};
    utf8_put(&b, 0x110000);
    assert_string_equal(buf_cstr(&b), FFFD);
    buf_finish(&b);
}

static void test_floor_and_ceil(void **state)
{
    (void)state;
    struct sv s = sv_of("a\xe2\x82\xac\xf0\x9f\x98\x80z\x80\x80\xe2\x82");
    //                   0 1       4             8  9  10   11
    static const size_t floors[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 10, 11, 12, 13};
    static const size_t ceils[] = {0, 1, 4, 4, 4, 8, 8, 8, 8, 9, 10, 11, 12, 13};
    assert_int_equal(s.n, 13);
    for (size_t n = 0; n <= s.n; n++) {
        assert_int_equal(utf8_floor(s, n), floors[n]);
        assert_int_equal(utf8_ceil(s, n), ceils[n]);
    }
    assert_int_equal(utf8_floor(s, 99), 13);
    assert_int_equal(utf8_ceil(s, 99), 13);
    assert_int_equal(utf8_floor(sv_of(""), 3), 0);
}

static void test_width(void **state)
{
    (void)state;
    assert_int_equal(utf8_width(sv_of("")), 0);
    assert_int_equal(utf8_width(sv_of("abc")), 3);
    assert_int_equal(utf8_width(sv_of("\t\x7f\x1b")), 0);
    assert_int_equal(utf8_width(sv_of("e\xcc\x81")), 1);                // combining acute
    assert_int_equal(utf8_width(sv_of("\xe4\xb8\xad\xe6\x96\x87")), 4); // wide
    assert_int_equal(utf8_width(sv_of("\xf0\x9f\x98\x80")), 2);         // emoji
    assert_int_equal(utf8_width(sv_of("\xff")), 1);
}

static void test_next_on_bad_bytes(void **state)
{
    (void)state;
    struct sv s = sv_of("\xe2\x82z");
    assert_int_equal(utf8_next(&s), 0xfffd);
    assert_int_equal(utf8_next(&s), 'z');
    assert_int_equal(s.n, 0);
    assert_int_equal(utf8_sequence(s), 0);
    assert_int_equal(utf8_sequence(sv_of("\x80")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_stream_in_pieces),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_floor_and_ceil),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_next_on_bad_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
