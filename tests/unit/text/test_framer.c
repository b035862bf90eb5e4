#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/framer.h"

// Feeds input in pieces of `step` bytes and writes what comes out as one text: each line
// in brackets, "!" for a line that was too long.
static void feed(struct buf *out, struct sv input, size_t step, size_t max)
{
    struct framer f = {.max = max};
    struct sv line;
    while (input.n > 0) {
        struct sv piece = sv_make(input.p, input.n < step ? input.n : step);
        input = sv_from(input, piece.n);
        enum framer_result r;
        while ((r = framer_next(&f, &piece, &line)) != FRAMER_MORE) {
            if (r == FRAMER_LINE) {
                buf_addf(out, "[%.*s]", (int)line.n, line.p);
            } else {
                buf_adds(out, "!");
            }
        }
        assert_int_equal(piece.n, 0);
    }
    if (framer_end(&f, &line) == FRAMER_LINE) {
        buf_addf(out, "[%.*s]", (int)line.n, line.p);
    }
    assert_int_equal(framer_end(&f, &line), FRAMER_MORE);
    framer_finish(&f);
}

static void check(const char *input, size_t max, const char *wanted)
{
    for (size_t step = 1; step <= strlen(input) + 1; step++) {
        struct buf out = {0};
        feed(&out, sv_of(input), step, max);
        assert_string_equal(buf_cstr(&out), wanted);
        buf_finish(&out);
    }
}

static void lines_come_whole(void **state)
{
    (void)state;
    check("", 10, "");
    check("a\nbc\n", 10, "[a][bc]");
    check("a\n\nb", 10, "[a][][b]");
    check("\n\n", 10, "[][]");
    check("last", 10, "[last]");
}

static void only_lf_ends_a_line_and_one_cr_goes(void **state)
{
    (void)state;
    check("a\r\nb\rc\r\r\n", 10, "[a][b\rc\r]");
    check("a\xe2\x80\xa8"
          "b\n",
          10,
          "[a\xe2\x80\xa8"
          "b]");
}

static void long_lines_are_reported_once(void **state)
{
    (void)state;
    check("123456\nab\n", 5, "![ab]");
    check("12345\nab\n", 5, "[12345][ab]");
    check("ab\n12345678901234567890", 5, "[ab]!");
    check("123456\n1234567\nok", 5, "!![ok]");
}

static void memory_of_a_long_line_is_given_back(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'x', n);
    struct framer f = {.max = n};
    struct sv line, piece = sv_make(text, n), end = sv_of("\n");
    assert_int_equal(framer_next(&f, &piece, &line), FRAMER_MORE);
    assert_int_equal(framer_next(&f, &end, &line), FRAMER_LINE);
    assert_int_equal(line.n, n);
    assert_int_equal(framer_next(&f, &end, &line), FRAMER_MORE);
    assert_true(f.held.cap <= 64 * 1024);
    framer_finish(&f);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_whole),
        cmocka_unit_test(only_lf_ends_a_line_and_one_cr_goes),
        cmocka_unit_test(long_lines_are_reported_once),
        cmocka_unit_test(memory_of_a_long_line_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
