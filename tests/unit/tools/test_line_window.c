#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "line_window.h"

static struct line_window window(uint64_t first, uint64_t lines, size_t bytes)
{
    return (struct line_window){
        .first = first, .max_lines = lines, .max_bytes = bytes, .ahead = 1000};
}

static void feed(struct line_window *w, const char *text, size_t step)
{
    struct sv rest = sv_of(text);
    bool more = true;
    while (more && rest.n > 0) {
        size_t n = rest.n < step ? rest.n : step;
        more = line_window_feed(w, sv_make(rest.p, n));
        rest = sv_from(rest, n);
    }
    if (more) {
        line_window_end(w);
    }
}

struct expected {
    const char *kept;
    uint64_t kept_lines, lines, over_bytes;
};

// The result must not depend on how the text is cut into pieces.
static void expect(const char *text, struct line_window start, struct expected e)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct line_window w = start;
        feed(&w, text, step);
        assert_string_equal(buf_cstr(&w.kept), e.kept);
        assert_int_equal(w.kept_lines, e.kept_lines);
        assert_int_equal(w.lines, e.lines);
        assert_int_equal(w.over_bytes, e.over_bytes);
        assert_int_equal(w.by_bytes, e.over_bytes > 0);
        assert_int_equal(w.bytes, strlen(text));
        assert_true(w.at_end);
        line_window_finish(&w);
    }
}

static void test_whole(void **state)
{
    (void)state;
    expect("", window(1, 10, 99), (struct expected){"", 0, 0, 0});
    expect("a\nb\n", window(1, 10, 99), (struct expected){"a\nb\n", 2, 2, 0});
    expect("a\nb", window(1, 10, 99), (struct expected){"a\nb", 2, 2, 0});
    expect("\n\n", window(1, 10, 99), (struct expected){"\n\n", 2, 2, 0});
}

static void test_lines(void **state)
{
    (void)state;
    expect("a\nb\nc\n", window(2, 1, 99), (struct expected){"b\n", 1, 3, 0});
    expect("a\nb\nc", window(3, 9, 99), (struct expected){"c", 1, 3, 0});
    expect("a\nb\nc\n", window(1, 3, 99), (struct expected){"a\nb\nc\n", 3, 3, 0});
    expect("a\nb\n", window(3, 9, 99), (struct expected){"", 0, 2, 0});
    expect("a\r\nb\r\n", window(2, 9, 99), (struct expected){"b\r\n", 1, 2, 0});
}

static void test_bytes(void **state)
{
    (void)state;
    expect("aa\nbb\ncc\n", window(1, 9, 6), (struct expected){"aa\nbb\n", 2, 3, 2});
    expect("aa\nbbbbbbbb\ncc\n", window(1, 9, 6), (struct expected){"aa\n", 1, 3, 8});
    expect("bbbbbbbb\ncc\n", window(1, 9, 6), (struct expected){"", 0, 2, 8});
    expect("bbbbbbbb", window(1, 9, 6), (struct expected){"", 0, 1, 8});
    expect("bbbbbb", window(1, 9, 6), (struct expected){"bbbbbb", 1, 1, 0});
}

static void test_stops_after_looking_ahead(void **state)
{
    (void)state;
    struct line_window w = window(1, 1, 99);
    w.ahead = 4;
    assert_true(line_window_feed(&w, sv_of("a\nb\n")));
    assert_true(line_window_feed(&w, sv_of("c\n")));
    assert_false(line_window_feed(&w, sv_of("d\n")));
    assert_false(w.at_end);
    assert_string_equal(buf_cstr(&w.kept), "a\n");
    line_window_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_stops_after_looking_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
