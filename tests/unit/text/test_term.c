#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "text/term.h"

#define FFFD "\xef\xbf\xbd"
#define EACUTE "\xc3\xa9"
#define EURO "\xe2\x82\xac"

static void feed_in_steps(struct buf *out, struct sv in, size_t step)
{
    struct term t = {0};
    while (in.n) {
        size_t n = in.n < step ? in.n : step;
        term_feed(&t, out, sv_make(in.p, n));
        in = sv_from(in, n);
    }
    term_end(&t, out);
    term_finish(&t);
}

static void check_bytes(struct sv in, const char *want)
{
    for (size_t step = 1; step <= 16; step = step < 4 ? step + 1 : step * 2) {
        struct buf out = {0};
        feed_in_steps(&out, in, step);
        assert_true(buf_ok(&out));
        assert_string_equal(buf_cstr(&out), want);
        buf_finish(&out);
    }
}

static void check(const char *in, const char *want)
{
    check_bytes(sv_of(in), want);
}

static void test_plain(void **state)
{
    (void)state;
    check("", "");
    check("abc", "abc");
    check("abc\n", "abc\n");
    check("\n\n\ta  b \nlast", "\n\n\ta  b \nlast");
    check("a longer line of plain text without anything odd\nand one more\nx",
          "a longer line of plain text without anything odd\nand one more\nx");
    check("gr\xc3\xbc\xc3\x9f " EURO " \xf0\x9f\x98\x80\n",
          "gr\xc3\xbc\xc3\x9f " EURO " \xf0\x9f\x98\x80\n");
}

static void test_control_characters_are_dropped(void **state)
{
    (void)state;
    check_bytes(sv_make("a\0b\x01\x07\x0b\x0c\x0e\x7f"
                        "c\n",
                        12),
                "abc\n");
    check("a\xc2\x80"
          "b\xc2\x9f"
          "c\xc2\xa0"
          "d",
          "abc\xc2\xa0"
          "d");                     // C1; not NBSP
    for (int c = 0; c < 256; c++) { // each byte in each place of a machine word
        char in[16] = "0123456789abcdef";
        in[c % 16] = (char)c;
        bool plain = c == '\t' || c == '\n' || (c >= 0x20 && c < 0x7f);
        if (c == '\r' || c == '\b' || c == 0x1b || c >= 0x80) {
            continue;
        }
        char want[17] = {0};
        memcpy(want, in, 16);
        if (!plain) {
            memmove(want + c % 16, want + c % 16 + 1, (size_t)(16 - c % 16));
        }
        check_bytes(sv_make(in, 16), want);
    }
}

static void test_utf8_is_repaired(void **state)
{
    (void)state;
    check("a\xff\xe2\x82z\xc3", "a" FFFD FFFD "z" FFFD);
    check("\xe2\x82\x1b[1mx\x1b[m", FFFD "x");
    check("\xc2\xc2\x9b"
          "31mx",
          FFFD "31mx");
    check("\xe2\x82\n", FFFD "\n");
}

static void test_carriage_return(void **state)
{
    (void)state;
    check("abc\r\ndef\r\n", "abc\ndef\n");
    check("abc\r\r\n", "abc\n");
    check("10%\r20%\r100%\n", "100%\n");
    check("abcdef\rXY\n", "XYcdef\n");
    check("abc\r", "abc");
    check("abc\rx", "xbc");
    check("\rabc\n", "abc\n");
    check("ab\rwxyz\n", "wxyz\n");
}

static void test_overwriting_counts_characters(void **state)
{
    (void)state;
    check(EACUTE EURO "c\rab\n", "abc\n");
    check("abc\r" EACUTE EURO "\n", EACUTE EURO "c\n");
    check("abc\r" EURO EURO EURO EURO EURO "\n", EURO EURO EURO EURO EURO "\n");
    check(EURO EURO "\rx\n", "x" EURO "\n");
    check("a" EURO "b\r\xff\n", FFFD EURO "b\n");
}

static void test_backspace(void **state)
{
    (void)state;
    check("abc\bX\n", "abX\n");
    check("ab" EURO "\bX\n", "abX\n");
    check("a\b\b\bX\n", "X\n");
    check("N\bNA\bAM\bME\bE\n", "NAME\n"); // as man pages write bold
    check("\b\bx", "x");
    check("-\b\\\b|\b/\bdone\n", "done\n");
}

static void test_escape_sequences(void **state)
{
    (void)state;
    check("\x1b[31mred\x1b[0m plain\n", "red plain\n");
    check("\x1b[38;2;1;2;3mx\x1b[?25l\x1b[>4;2my\x1b[ qz\n", "xyz\n");
    check("\x1b(Ba\x1b)0b\x1b=c\x1b>d\x1b"
          "7e\x1b"
          "8f\x1b#8g\n",
          "abcdefg\n");
    check("\x1b]0;title\x07"
          "a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n",
          "alink\n");
    check("\x1bP1$r0m\x1b\\a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d\n",
          "abcd\n");
    check("\x1b[1\x18x\x1b]0;t\x1ay\n", "xy\n"); // CAN and SUB cancel
    check("\x1b[3\x1b[1mz\n", "z\n");            // ESC starts anew
    check("\x1b\x1b[1mz\n", "z\n");
    check("\x1b[1\xc3\xa9\n", EACUTE "\n"); // no sequence goes on with this
    check("a\x1b", "a");
    check("a\x1b[", "a");
    check("a\x1b]0;t", "a");
    check("\x1b]0;\xc3\xa9\xff\x07x\n", "x\n");
}

static void test_a_sequence_without_end_swallows_little(void **state)
{
    (void)state;
    check("\x1b]0;title\nnext\n", "\nnext\n");
    check("\x1bPdata\nnext\n", "\nnext\n");
    check("\x1b[12\nnext\n", "\nnext\n");
    check("\x1b\nnext\n", "\nnext\n");
    struct buf in = {0};
    struct buf out = {0};
    buf_adds(&in, "\x1b]52;");
    for (int i = 0; i < 10000; i++) {
        buf_addc(&in, 'A');
    }
    feed_in_steps(&out, buf_sv(&in), 7);
    assert_int_equal(out.len, 10003 - TERM_SEQUENCE_MAX);
    buf_finish(&in);
    buf_finish(&out);
}

static void test_erase_in_line(void **state)
{
    (void)state;
    check("working\r\x1b[Kdone\n", "done\n");
    check("working\r\x1b[0Kdone\n", "done\n");
    check("abcdef\rab\x1b[K\n", "ab\n");
    check("working\x1b[2K\rdone\n", "done\n");
    check("working\x1b[2Kdone\n", "done\n");
    check("abcdef\b\b\x1b[1K\n", "     f\n");
    check(EURO EURO "x\b\x1b[1Kz\n", "  z\n");
    check("a" EURO "\b\x1b[1Kz\n", " z\n");
    check("ab\x1b[1Kz\n", "  z\n");
    check("\x1b[1K\x1b[2K\x1b[Kx\n", "x\n");
    check("abc\r\x1b[?K\x1b[3Kx\n", "xbc\n");
    check("abc\r\x1b[Jx\n", "x\n");
    check("abc\x1b[2Jd\n", "abcd\n");
}

static void test_column(void **state)
{
    (void)state;
    check("working\x1b[2K\x1b[1Gdone\n", "done\n");
    check("abc\x1b[GX\n", "Xbc\n");
    check(EURO EURO EURO "\x1b[2GX\n", EURO "X" EURO "\n");
    check("abc\x1b[99999GX\n", "abcX\n");
    check("abc\x1b[99999999999999999999GX\n", "abcX\n");
}

static void test_peek(void **state)
{
    (void)state;
    struct term t = {0};
    struct buf out = {0};
    struct buf live = {0};
    term_feed(&t, &out, sv_of("one\ntw\rT"));
    assert_string_equal(buf_cstr(&out), "one\n");
    term_peek(&t, &live);
    assert_string_equal(buf_cstr(&live), "Tw");
    term_feed(&t, &out, sv_of("WO\n"));
    assert_string_equal(buf_cstr(&out), "one\nTWO\n");
    buf_clear(&live);
    term_peek(&t, &live);
    assert_string_equal(buf_cstr(&live), "");
    term_end(&t, &out);
    term_feed(&t, &out, sv_of("again"));
    term_end(&t, &out);
    assert_string_equal(buf_cstr(&out), "one\nTWO\nagain");
    term_finish(&t);
    term_finish(NULL);
    buf_finish(&out);
    buf_finish(&live);
}

// Nothing of a line without end is lost, and the memory stays the same.
static void check_endless_line(const char *unit, size_t times, size_t step)
{
    struct term t = {0};
    struct buf piece = {0};
    struct buf out = {0};
    for (size_t i = 0; i < step; i++) {
        buf_adds(&piece, unit);
    }
    for (size_t i = 0; i < times; i += step) {
        term_feed(&t, &out, buf_sv(&piece));
        assert_true(t.line.len <= TERM_LINE_MAX);
    }
    assert_true(t.line.cap <= 4 * TERM_LINE_MAX);
    term_end(&t, &out);
    size_t n = strlen(unit);
    assert_int_equal(out.len, (times + step - 1) / step * step * n);
    for (size_t i = 0; i < out.len; i += n) {
        assert_memory_equal(out.data + i, unit, n);
    }
    term_finish(&t);
    buf_finish(&piece);
    buf_finish(&out);
}

static void test_endless_line(void **state)
{
    (void)state;
    check_endless_line("abc", 30000, 1);
    check_endless_line(EURO, 30000, 7);
    check_endless_line(EURO, 200000, 50000);
    check_endless_line("x", 3000000, 1000000);
}

static void test_overwriting_an_endless_line(void **state)
{
    (void)state;
    struct term t = {0};
    struct buf out = {0};
    for (int i = 0; i < 10; i++) {
        struct buf piece = {0};
        for (int k = 0; k < TERM_LINE_MAX; k++) {
            buf_adds(&piece, i % 2 ? "a" : EURO);
        }
        buf_addc(&piece, '\r');
        term_feed(&t, &out, buf_sv(&piece));
        assert_true(t.line.cap <= 8 * TERM_LINE_MAX);
        buf_finish(&piece);
    }
    term_end(&t, &out);
    assert_true(utf8_valid(buf_sv(&out)));
    term_finish(&t);
    buf_finish(&out);
}

// However the input is divided, the text is the same and contains nothing but plain text.
static void test_random_input_in_random_pieces(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "a",        "bc",       " ",
        "\n",       "\r",       "\b",
        "\t",       "\x1b",     "[",
        "]",        "K",        "2",
        "1",        ";",        "G",
        "\x07",     "\\",       "P",
        "\xc3",     "\xa9",     EURO,
        "\xf0\x9f", "\xc2\x9b", "\xff",
        "\x18",     "J",        "text of some length",
        "\r\n",     "\x1b[K",   "\x1b[1K",
        "\x1b[2G",
    };
    struct random r = {1};
    for (int round = 0; round < 300; round++) {
        struct buf in = {0};
        for (int i = 0; i < 200; i++) {
            buf_adds(&in, parts[random_below(&r, sizeof parts / sizeof parts[0])]);
        }
        struct buf whole = {0};
        feed_in_steps(&whole, buf_sv(&in), in.len);
        assert_true(utf8_valid(buf_sv(&whole)));
        assert_null(strpbrk(buf_cstr(&whole), "\r\b\x1b\x07\x18\x7f"));
        for (size_t step = 1; step < 9; step++) {
            struct buf out = {0};
            feed_in_steps(&out, buf_sv(&in), step);
            assert_string_equal(buf_cstr(&out), buf_cstr(&whole));
            buf_finish(&out);
        }
        buf_finish(&whole);
        buf_finish(&in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_control_characters_are_dropped),
        cmocka_unit_test(test_utf8_is_repaired),
        cmocka_unit_test(test_carriage_return),
        cmocka_unit_test(test_overwriting_counts_characters),
        cmocka_unit_test(test_backspace),
        cmocka_unit_test(test_escape_sequences),
        cmocka_unit_test(test_a_sequence_without_end_swallows_little),
        cmocka_unit_test(test_erase_in_line),
        cmocka_unit_test(test_column),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_overwriting_an_endless_line),
        cmocka_unit_test(test_random_input_in_random_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
