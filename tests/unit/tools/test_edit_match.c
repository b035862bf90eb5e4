#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "edit_match.h"
#include "random.h"

static struct edit_match find(const char *text, const char *old)
{
    struct edit_match m;
    struct pi_error err;
    assert_int_equal(edit_match_find(&m, sv_of(text), sv_of(old), &err), PI_OK);
    return m;
}

// `hit` is what must be matched, once.
static void check(const char *text, const char *old, enum edit_level level,
                  const char *hit)
{
    struct edit_match m = find(text, old);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.level, level);
    struct sv got = sv_make(text + m.start, m.end - m.start);
    if (!sv_eqs(got, hit)) {
        print_error("got \"%.*s\", wanted \"%s\"\n", (int)got.n, got.p, hit);
    }
    assert_true(sv_eqs(got, hit));
}

static void check_count(const char *text, const char *old, size_t count)
{
    assert_int_equal(find(text, old).count, count);
}

static void test_exact(void **state)
{
    (void)state;
    check("alpha beta gamma", "beta", EDIT_EXACT, "beta");
    check("beta", "beta", EDIT_EXACT, "beta");
    check("x\xFF\x99y", "y", EDIT_EXACT, "y");
    check_count("", "x", 0);
    check_count("short", "much longer than the text", 0);
}

static void test_exact_count(void **state)
{
    (void)state;
    check_count("aaa", "aa", 2);
    check_count("aaaaa", "aa", 4);
    check_count("abababa", "aba", 3);
    check_count("x = 1\nx = 1\n", "x = 1", 2);
    struct edit_match m = find("a.a.a.a.a.a.a.", "a.");
    assert_int_equal(m.count, 7);
    assert_int_equal(m.starts[0], 0);
    assert_int_equal(m.starts[4], 8);
}

// A look-alike elsewhere does not make an exact place ambiguous.
static void test_level_that_matched(void **state)
{
    (void)state;
    check("cry “wolf”\ncry \"wolf\"\n", "cry \"wolf\"", EDIT_EXACT, "cry \"wolf\"");
    check("a\r\nb\r\na\nb\n", "a\nb", EDIT_EXACT, "a\nb");
    check("x\r\ny\r\nx \ny\n", "x\ny", EDIT_LINE_ENDS, "x\r\ny");
}

static void test_line_ends(void **state)
{
    (void)state;
    check("1\r\n2\r\n3\r\n", "2\n3", EDIT_LINE_ENDS, "2\r\n3");
    check("1\n2\n3\n", "2\r\n3\r\n", EDIT_LINE_ENDS, "2\n3\n");
    check("1\r\n2\n3\r\n4", "1\n2\n3\n4", EDIT_LINE_ENDS, "1\r\n2\n3\r\n4");
    check("a\r\n\r\n\r\nb", "\n\n\n", EDIT_LINE_ENDS, "\r\n\r\n\r\n");
    check_count("a\r\n\r\n\r\nb", "\n\n", 2);
    check_count("a\nb\r\na\r\nb\r\na\r\nb\r\n", "b\na\n", 2);
}

static void test_lone_cr_is_content(void **state)
{
    (void)state;
    check_count("a\rb", "a\nb", 0);
    check_count("a\nb", "a\rb", 0);
    check("10%\r20%\r\nok\r\n", "10%\r20%\nok", EDIT_LINE_ENDS, "10%\r20%\r\nok");
}

// The LF of a CRLF is no place of its own.
static void test_front_of_crlf(void **state)
{
    (void)state;
    check("a\r\nfoo\r\n", "\nfoo", EDIT_EXACT, "\r\nfoo");
}

static void test_fuzzy_signs(void **state)
{
    (void)state;
    check("The board says “soup of the day” now.\n",
          "The board says \"soup of the day\" now.", EDIT_FUZZY,
          "The board says “soup of the day” now.");
    check("say \"hi\"", "say “hi”", EDIT_FUZZY, "say \"hi\"");
    check("it’s – here", "it's - here", EDIT_FUZZY, "it’s – here");
    check("a\xC2\xA0"
          "b",
          "a b", EDIT_FUZZY,
          "a\xC2\xA0"
          "b");
    check("x ﬁle y", "file", EDIT_FUZZY, "ﬁle");
    check("caf\xC3\xA9", "cafe\xCC\x81", EDIT_FUZZY, "caf\xC3\xA9");
    check("cafe\xCC\x81", "caf\xC3\xA9", EDIT_FUZZY, "cafe\xCC\x81");
    check("ＡＢＣ", "ABC", EDIT_FUZZY, "ＡＢＣ");
}

static void test_fuzzy_never_splits_a_character(void **state)
{
    (void)state;
    check_count("ﬁ", "f", 0);
    check_count("ﬁ", "i", 0);
    check_count("wait…", "t.", 0);
    check("wait…", "t...", EDIT_FUZZY, "t…");
}

static void test_fuzzy_trailing_blanks(void **state)
{
    (void)state;
    check("C trailing   \nD – end", "C trailing\nD", EDIT_FUZZY, "C trailing   \nD");
    check("one\ntwo\n", "one  \ntwo\t\n", EDIT_FUZZY, "one\ntwo\n");
    check("a\n\nb", "a\n    \nb", EDIT_FUZZY, "a\n\nb");
    check("a\n    \nb", "a\n\nb", EDIT_FUZZY, "a\n    \nb");
    check("a  \r\nb", "a\nb", EDIT_FUZZY, "a  \r\nb");
}

static void test_fuzzy_blanks_at_the_end_of_old(void **state)
{
    (void)state;
    check("red\nblue", "red ", EDIT_FUZZY, "red");
    check("red\t\nblue", "red ", EDIT_FUZZY, "red\t");
    check("red", "red ", EDIT_FUZZY, "red");
    check_count("redder\nblue", "red ", 0);
    check("red\xC2\xA0wine", "red ", EDIT_FUZZY, "red\xC2\xA0");
    check_count("red\twine", "red ", 0);
    check("  a\n    b", "a\n    ", EDIT_EXACT, "a\n    ");
    check_count("a\nb", "  ", 0);
}

static void test_fuzzy_blank_line_at_the_front(void **state)
{
    (void)state;
    check_count("bar\nfoo", "  \nfoo", 0);
    check("x\n\t\nfoo", "  \nfoo", EDIT_FUZZY, "\t\nfoo");
    check("x\n\nfoo", "  \nfoo", EDIT_FUZZY, "\nfoo");
}

static void test_what_fuzzy_is_not(void **state)
{
    (void)state;
    check_count("\tsize  =  3\n", "    size = 3", 0); // indentation and inner blanks
    check_count("Size", "size", 0);
    check_count("red\nblue", "red blue", 0);
    check_count("blue\n\n\nClosing part.", "blue\nClosing part.", 0);
    check_count("blue\nClosing part.", "blue\n\nClosing part.", 0);
}

static void test_fuzzy_count(void **state)
{
    (void)state;
    check_count("“a”\n“a”\n", "\"a\"", 2);
    check_count("x \nx \nx \n", "x\nx\n", 2);
}

static void test_bytes_that_are_not_utf8(void **state)
{
    (void)state;
    check_count("a\x99", "a\xEF\xBF\xBD", 0);
    check("“x” \x99", "\"x\" \x99", EDIT_FUZZY, "“x” \x99");
    check_count("“x” \x98", "\"x\" \x99", 0);
}

// ---- against a plain search over all units

struct units {
    struct edit_unit items[512];
    size_t len;
};

static void read_all(struct units *out, struct sv s, enum edit_level level)
{
    struct edit_reader r = edit_reader_make(s, 0, s.n, level);
    out->len = 0;
    while (edit_reader_next(&r, &out->items[out->len])) {
        out->len++;
    }
}

static size_t count_plainly(struct sv text, struct sv old, enum edit_level level)
{
    static struct units t, o;
    read_all(&t, text, level);
    read_all(&o, old, level);
    size_t count = 0;
    for (size_t i = 0; o.len > 0 && i + o.len <= t.len; i++) {
        size_t k = 0;
        while (k < o.len && t.items[i + k].code == o.items[k].code) {
            k++;
        }
        count += k == o.len && t.items[i].first && t.items[i + k - 1].last;
    }
    return count;
}

static size_t make_text(char *out, size_t pieces, struct random *r)
{
    static const char *const alphabet[] = {
        "a", "b", "a",  "\n", "\n", "\r\n", "\r",
        " ", "“", "\"", "ﬁ",  "f",  "i",    "\xC2\xA0",
    };
    size_t n = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t k = random_below(r, sizeof(alphabet) / sizeof(*alphabet));
        size_t len = strlen(alphabet[k]);
        memcpy(out + n, alphabet[k], len);
        n += len;
    }
    return n;
}

// Blanks at the ends of oldText have rules of their own, tested above.
static bool has_blank_edge(struct sv old)
{
    struct edit_reader r = edit_reader_make(old, 0, old.n, EDIT_FUZZY);
    struct edit_unit u = {0};
    bool any = edit_reader_next(&r, &u);
    size_t end = u.end;
    if (!any || u.start > 0) {
        return true;
    }
    while (edit_reader_next(&r, &u)) {
        end = u.end;
    }
    return end != old.n;
}

static void test_against_plain_search(void **state)
{
    (void)state;
    struct random r = {7};
    unsigned found[3] = {0};
    for (int round = 0; round < 30000; round++) {
        char text_bytes[256], old_bytes[32];
        struct sv text =
            sv_make(text_bytes, make_text(text_bytes, random_below(&r, 60), &r));
        struct sv old =
            sv_make(old_bytes, make_text(old_bytes, 1 + random_below(&r, 5), &r));
        struct edit_match m;
        assert_int_equal(edit_match_find(&m, text, old, NULL), PI_OK);
        if (has_blank_edge(old) && m.level == EDIT_FUZZY) {
            continue;
        }
        enum edit_level level = EDIT_EXACT;
        size_t count = count_plainly(text, old, level);
        while (count == 0 && level < EDIT_FUZZY) {
            count = count_plainly(text, old, ++level);
        }
        assert_int_equal(m.count, count);
        if (count > 0) {
            assert_int_equal(m.level, level);
            found[level]++;
        }
    }
    assert_true(found[EDIT_EXACT] > 100);
    assert_true(found[EDIT_LINE_ENDS] > 100);
    assert_true(found[EDIT_FUZZY] > 100);
}

// ---- shapes that would be slow in a careless search

static void test_many_hits_are_linear(void **state)
{
    (void)state;
    size_t n = 4 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    struct edit_match m;
    struct sv whole = sv_make(text, n);
    assert_int_equal(edit_match_find(&m, whole, sv_make(text, n / 2), NULL), PI_OK);
    assert_int_equal(m.count, n / 2 + 1);
    memset(text, ' ', n);
    assert_int_equal(edit_match_find(&m, whole, sv_of("\xC2\xA0 x"), NULL), PI_OK);
    assert_int_equal(m.count, 0);
    free(text);
}

static void test_many_candidates_are_linear(void **state)
{
    (void)state;
    size_t n = 256 << 10;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    for (size_t i = 1; i < n; i += 2) {
        text[i] = '\n';
    }
    struct buf old = {0};
    for (size_t i = 0; i < n / 8; i++) {
        buf_adds(&old, "a\r\n");
    }
    buf_adds(&old, "b");
    struct edit_match m;
    assert_int_equal(edit_match_find(&m, sv_make(text, n), buf_sv(&old), NULL), PI_OK);
    assert_int_equal(m.count, 0);
    buf_finish(&old);
    free(text);
}

static void test_line_number(void **state)
{
    (void)state;
    struct sv text = sv_of("a\nb\nc");
    assert_int_equal(edit_line_number(text, 0), 1);
    assert_int_equal(edit_line_number(text, 1), 1);
    assert_int_equal(edit_line_number(text, 2), 2);
    assert_int_equal(edit_line_number(text, 99), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_exact_count),
        cmocka_unit_test(test_level_that_matched),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_lone_cr_is_content),
        cmocka_unit_test(test_front_of_crlf),
        cmocka_unit_test(test_fuzzy_signs),
        cmocka_unit_test(test_fuzzy_never_splits_a_character),
        cmocka_unit_test(test_fuzzy_trailing_blanks),
        cmocka_unit_test(test_fuzzy_blanks_at_the_end_of_old),
        cmocka_unit_test(test_fuzzy_blank_line_at_the_front),
        cmocka_unit_test(test_what_fuzzy_is_not),
        cmocka_unit_test(test_fuzzy_count),
        cmocka_unit_test(test_bytes_that_are_not_utf8),
        cmocka_unit_test(test_against_plain_search),
        cmocka_unit_test(test_many_hits_are_linear),
        cmocka_unit_test(test_many_candidates_are_linear),
        cmocka_unit_test(test_line_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
