#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "edit_miss.h"
#include "edit_plan.h"
#include "random.h"

struct outcome {
    enum pi_status status;
    struct edit_plan plan;
    struct buf text; // after the changes
};

static void outcome_finish(struct outcome *o)
{
    edit_plan_finish(&o->plan);
    buf_finish(&o->text);
}

static struct outcome run(struct sv text, const struct edit_request *edits, size_t len)
{
    struct outcome o = {0};
    struct pi_error err;
    o.status = edit_plan_make(&o.plan, text, "f.txt", edits, len, NULL, &err);
    if (o.status != PI_OK) {
        return o;
    }
    struct host_change *changes = edit_changes_list(&o.plan.changes);
    size_t n = o.plan.changes.len;
    assert_non_null(changes);
    assert_true(n > 0);
    for (size_t i = 1; i < n; i++) {
        assert_true(changes[i - 1].offset + changes[i - 1].length < changes[i].offset);
    }
    assert_int_equal(host_changed_text(&o.text, text, changes, n), PI_OK);
    free(changes);
    return o;
}

static void check(const char *text, const char *old, const char *new, const char *wanted)
{
    struct edit_request edit = {sv_of(old), sv_of(new)};
    struct outcome o = run(sv_of(text), &edit, 1);
    if (o.status != PI_OK) {
        print_error("problem: %s\n", buf_cstr(&o.plan.problem));
    }
    assert_int_equal(o.status, PI_OK);
    assert_string_equal(buf_cstr(&o.text), wanted);
    outcome_finish(&o);
}

// The edit is refused with words that contain all of `words`.
static void check_refused(const char *text, const char *old, const char *new,
                          const char *const *words)
{
    struct edit_request edit = {sv_of(old), sv_of(new)};
    struct outcome o = run(sv_of(text), &edit, 1);
    assert_int_equal(o.status, PI_INVALID);
    for (; *words; words++) {
        if (!strstr(buf_cstr(&o.plan.problem), *words)) {
            print_error("\"%s\" is not in: %s\n", *words, buf_cstr(&o.plan.problem));
            fail();
        }
    }
    outcome_finish(&o);
}

#define REFUSED(text, old, new, ...)                                                     \
    check_refused(text, old, new, (const char *const[]){__VA_ARGS__, NULL})

static void test_bytes_outside_stay(void **state)
{
    (void)state;
    check("a\r\nb\nc", "c", "C", "a\r\nb\nC");
    check("10%\r20%\r100%\nstatus: old\n", "status: old", "status: new",
          "10%\r20%\r100%\nstatus: new\n");
    check("\xEF\xBB\xBFtitle\n", "title", "title2", "\xEF\xBB\xBFtitle2\n");
    check("version 1\nAcme\x99 Corp\n", "version 1", "version 2",
          "version 2\nAcme\x99 Corp\n");
    check("a\nb\nc", "a", "A", "A\nb\nc");
}

static void test_new_text_is_literal(void **state)
{
    (void)state;
    check("old", "old", "$$ $& $` \\1 \\n", "$$ $& $` \\1 \\n");
    check("// x\nold\n", "old", "‘’ “” – ﬁ Ａ\xC2\xA0½\r ",
          "// x\n‘’ “” – ﬁ Ａ\xC2\xA0½\r \n");
    check("a b c", "b ", "", "a c");
}

static void test_line_ends_of_the_surroundings(void **state)
{
    (void)state;
    check("L1\r\nL2\r\nmsg = \"x\ny\"\r\nL4\r\n", "L4", "L4\nL5",
          "L1\r\nL2\r\nmsg = \"x\ny\"\r\nL4\r\nL5\r\n");
    check("a\r\nb", "b", "b\nc", "a\r\nb\r\nc");
    check("a\nb\n", "b\n", "b\r\nc\r\n", "a\nb\nc\n");
    check("a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\nB1\nB2\nc\n", "a\r\nB1\r\nB2\r\nc\r\n");
    check("one", "one", "one\r\ntwo", "one\r\ntwo"); // no line end to follow
    check("a\r\nfoo\r\n", "\nfoo", "", "a\r\n");
    check("a\r\nfoo\r\nb\r\n", "foo\n", "", "a\r\nb\r\n");
}

// Lines that newText repeats keep their own ends, and so do rewritten ones.
static void test_each_line_keeps_its_end(void **state)
{
    (void)state;
    check("a\r\nb\nc\r\nd", "a\nb\nc\nd", "A\nb\nc\nD", "A\r\nb\nc\r\nD");
    check("a\r\nb\nc\r\n", "a\nb\nc\n", "1\n2\n3\n", "1\r\n2\n3\r\n");
    check("a\r\nb\nc\r\n", "a\nb\nc", "a\nc", "a\r\nc\r\n");
    check("a\nb\r\nc\n", "a\nb\nc", "a\nb\nnew\nc", "a\nb\r\nnew\nc\n");
}

static void test_changes_are_small(void **state)
{
    (void)state;
    struct edit_request edit = {
        sv_of("one\ntwo\nthree\nfour\n"),
        sv_of("one\ntwo!\nthree\nfour\nfive\n"),
    };
    struct outcome o = run(sv_of("zero\none\ntwo\nthree\nfour\n"), &edit, 1);
    assert_int_equal(o.status, PI_OK);
    assert_int_equal(o.plan.changes.len, 2);
    const struct edit_change *c = o.plan.changes.items;
    assert_int_equal(c[0].offset, 12);
    assert_int_equal(c[0].length, 0);
    assert_int_equal(c[0].text_len, 1);
    assert_int_equal(c[1].offset, 24);
    assert_int_equal(c[1].length, 0);
    assert_int_equal(c[1].text_len, 5);
    outcome_finish(&o);
}

static void test_changes_do_not_split_characters(void **state)
{
    (void)state;
    struct edit_request edit = {sv_of("x é y"), sv_of("x è y")}; // C3 A9, C3 A8
    struct outcome o = run(sv_of("x é y"), &edit, 1);
    assert_int_equal(o.plan.changes.len, 1);
    assert_int_equal(o.plan.changes.items[0].offset, 2);
    assert_int_equal(o.plan.changes.items[0].length, 2);
    outcome_finish(&o);
}

static void test_fuzzy_keeps_what_is_not_changed(void **state)
{
    (void)state;
    check("The board says “soup of the day” now.\ntail – dash\n",
          "The board says \"soup of the day\" now.",
          "The board says \"soup of the day\" tomorrow.",
          "The board says “soup of the day” tomorrow.\ntail – dash\n");
    check("C trailing   \nD – end\n", "C trailing\nD", "C trailing\nDD",
          "C trailing   \nDD – end\n");
    check("a  \nb “x”\nc\t\nd", "a\nb \"x\"\nc\nd", "a\nb \"x\"\nC\nd",
          "a  \nb “x”\nC\t\nd");
    check("red\nblue", "red ", "tan ", "tan\nblue");
    check("red  \nblue", "red \t", "red", "red\nblue");
    check("it’s – ok", "it's - ok", "it's -- ok", "it’s –- ok");
}

// Only whole characters of the file are replaced.
static void test_fuzzy_expanding_characters(void **state)
{
    (void)state;
    check("x ﬁ y", "x fi y", "x fo y", "x fo y");
    check("x ﬁ y", "x fi y", "x fix y", "x ﬁx y");
    check("x ﬁ y", "x fi y", "x fzi y", "x fzi y");
    check("x fi y", "x ﬁ y", "x ﬂ y", "x ﬂ y");
    check("a½b", "a1⁄2b", "a1⁄3b", "a1⁄3b");
    check("caf\xC3\xA9 au lait", "cafe\xCC\x81 au", "cafe\xCC\x81 ou",
          "caf\xC3\xA9 ou lait");
}

static void test_joining_lines_takes_blanks_along(void **state)
{
    (void)state;
    check("a  \n“b”", "a\n\"b\"", "a\"b\"", "a“b”");
    check("a  \n“b”", "a\n\"b\"", "a;\n\"b\"", "a;  \n“b”");
}

static void test_several_edits(void **state)
{
    (void)state;
    struct edit_request edits[] = {
        {sv_of("alpha"), sv_of("beta")},
        {sv_of("beta"), sv_of("delta")},
    };
    struct outcome o = run(sv_of("alpha beta gamma\n"), edits, 2);
    assert_string_equal(buf_cstr(&o.text), "beta delta gamma\n");
    outcome_finish(&o);

    struct edit_request swapped[] = {
        {sv_of("c"), sv_of("cd")},
        {sv_of("b"), sv_of("ab")},
    };
    o = run(sv_of("_bc_"), swapped, 2); // they touch
    assert_string_equal(buf_cstr(&o.text), "_abcd_");
    outcome_finish(&o);

    struct edit_request both[] = {
        {sv_of("b"), sv_of("bX")},
        {sv_of("c"), sv_of("Yc")},
    };
    o = run(sv_of("abcd"), both, 2); // insertions at one place
    assert_string_equal(buf_cstr(&o.text), "abXYcd");
    assert_int_equal(o.plan.changes.len, 1);
    outcome_finish(&o);
}

static void test_overlap(void **state)
{
    (void)state;
    struct edit_request edits[] = {
        {sv_of("c d"), sv_of("y")},
        {sv_of("a b"), sv_of("ok")},
        {sv_of("b c"), sv_of("x")},
    };
    struct outcome o = run(sv_of("1\na b c d\n"), edits, 3);
    assert_int_equal(o.status, PI_INVALID);
    assert_non_null(strstr(buf_cstr(&o.plan.problem), "edits[1] (line 2)"));
    assert_non_null(strstr(buf_cstr(&o.plan.problem), "edits[2] (line 2)"));
    outcome_finish(&o);
}

static void test_names_the_edit(void **state)
{
    (void)state;
    struct edit_request edits[] = {
        {sv_of("a"), sv_of("b")},
        {sv_of("nothing like it"), sv_of("")},
    };
    struct outcome o = run(sv_of("a\n"), edits, 2);
    assert_int_equal(o.status, PI_INVALID);
    assert_non_null(strstr(buf_cstr(&o.plan.problem), "edits[1].oldText"));
    outcome_finish(&o);
}

static void test_ambiguous(void **state)
{
    (void)state;
    REFUSED("aaa\nx = 1\nx = 1\n", "x = 1", "x = 2", "2 places", "lines 2, 3");
    REFUSED("aaa", "aa", "b", "2 places");
    REFUSED("“a”\n\n“a”\n", "\"a\"", "b", "2 places", "approximately", "lines 1, 3");
    REFUSED("x\nx\nx\nx\nx\nx\nx\n", "x", "y", "7 places", "lines 1, 2, 3, 4, 5, ...");
}

static void test_empty_and_same(void **state)
{
    (void)state;
    REFUSED("", "A=1", "A=2", "empty", "write");
    REFUSED("text", "", "x", "oldText is empty");
    REFUSED("", "", "x", "write");
    REFUSED("same", "same", "same", "No change");
    REFUSED("a\r\nb", "a\nb", "a\r\nb", "No change");
    REFUSED("“x”", "\"x\"", "“x”", "No change");
}

static void test_line_numbers(void **state)
{
    (void)state;
    check("def a():\n    return 1\n", "1 | def a():\n2 |     return 1",
          "1 | def a():\n2 |     return 2", "def a():\n    return 2\n");
    check("def a():\n    return 1\n", "  1→def a():\n  2→    return 1\n",
          "def a():\n    return 2\n", "def a():\n    return 2\n");
    check("def a():\n    return 1\n", "2:    return 1", "2:    return 2",
          "def a():\n    return 2\n");
    check("x\n\ty\r\nz\n", "2\t\ty\n3\tz", "2\t\tY\n3\tz\n4\tw", "x\n\tY\r\nz\nw\n");
    check("a\n1 | b\n", "1 | b", "1 | c", "a\n1 | c\n"); // it is in the file
}

static void test_line_numbers_never_reach_the_file(void **state)
{
    (void)state;
    REFUSED("def a():\n    return 1\n", "1 | def a():\n2 |     return 1",
            "1 | def a():\n    return 2", "line numbers");
    REFUSED("def a():\n", "1 | def b():\n2 |     return 1", "x", "line numbers");
    REFUSED("xdef a():\n", "1|def a():", "1|def b():", "line numbers");
    REFUSED("x: y\nweb\n", "80: web", "80: api", "Could not find"); // not line 80
    REFUSED("a\nb\n", "1|a\n3|b", "1|a\n3|c", "Could not find");    // not a listing
}

static void test_miss_indentation(void **state)
{
    (void)state;
    REFUSED("class Box:\n\tsize = 3\n", "    size = 3", "    size = 4", "line 2",
            "indentation", "1 tab", "4 spaces", "\\tsize = 3");
    REFUSED("if x:\n\ta()\n\tb()\n", "if x:\n  a()\n  b()\n", "", "line 2",
            "indentation");
    REFUSED("\tsize  =  3\n", "    size = 3", "", "indentation", "inside the line");
}

static void test_miss_escaped_twice(void **state)
{
    (void)state;
    REFUSED("a\n\tb \"c\"\n", "a\\n\\tb \\\"c\\\"", "x", "escaped twice");
    REFUSED("a\nc\n", "a\\nb", "x", "No line");
}

// What would have been overlooked is not the reason.
static void test_miss_beside_signs(void **state)
{
    (void)state;
    REFUSED("a = “x”\nb  = 1\n", "a = \"x\"\nb = 1", "x",
            "line 2 differs in white space");
}

static void test_miss_case(void **state)
{
    (void)state;
    REFUSED("1\n2\nThe Board\n", "the board", "x", "line 3", "upper and lower case");
}

static void test_miss_in_part(void **state)
{
    (void)state;
    REFUSED("a = 1;\nb = 2;\nc = 3;\n", "a = 1;\nb = 22;\nc = 3;\n", "", "line 1",
            "line 2 differs", "b = 2;", "b = 22;");
    REFUSED("a = 1;\nb = 2;\n", "b = 2;\nc = 3;\n", "", "ends before line 2 of oldText");
    REFUSED("blue\n\n\nClosing part.\n", "blue\nClosing part.", "", "line 2 differs");
}

static void test_miss_line_end(void **state)
{
    (void)state;
    REFUSED("a\nb", "b\n", "x\n", "The lines from 2 on",
            "ends in a line end, which the last line of the file lacks");
}

// What read shows for bytes that are not UTF-8 is not what the file holds.
static void test_miss_replacement(void **state)
{
    (void)state;
    REFUSED("caf\xe9\nx\n", "caf\uFFFD", "tea", "oldText holds U+FFFD",
            "choose text without it");
    REFUSED("caf\uFFFD\n", "cafe\uFFFD", "tea", "most similar");
    REFUSED("caf\xe9\nx\n", "caf\u00e9", "tea", "not UTF-8", "choose text without");
}

static void test_miss_similar(void **state)
{
    (void)state;
    REFUSED("int main(void)\n{\n    return compute_sum(first, second);\n}\n",
            "return compute_sum(first, third);", "", "most similar", "line 3",
            "compute_sum(first, second)");
    REFUSED("abc\n", "completely different words", "", "No line");
    REFUSED("abc\n", "   ", "x", "Could not find");
}

// All oldTexts and newTexts over a small alphabet, exact and approximate: whatever is
// changed is the place of oldText, and it becomes newText in all but look.
static size_t make_text(char *out, size_t pieces, struct random *r)
{
    static const char *const alphabet[] = {
        "a", "b", "c", "\n", "\n", "\r\n", "d", "“", "\"", "ﬁ", "f", "i", "\t\n",
    };
    size_t n = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t k = random_below(r, sizeof(alphabet) / sizeof(*alphabet));
        memcpy(out + n, alphabet[k], strlen(alphabet[k]));
        n += strlen(alphabet[k]);
    }
    return n;
}

static bool look_alike(struct sv a, struct sv b)
{
    struct edit_reader ra = edit_reader_make(a, 0, a.n, EDIT_FUZZY);
    struct edit_reader rb = edit_reader_make(b, 0, b.n, EDIT_FUZZY);
    struct edit_unit ua, ub;
    for (;;) {
        bool more_a = edit_reader_next(&ra, &ua);
        bool more_b = edit_reader_next(&rb, &ub);
        if (!more_a || !more_b) {
            return more_a == more_b;
        }
        if (ua.code != ub.code) {
            return false;
        }
    }
}

static void test_any_edit(void **state)
{
    (void)state;
    struct random r = {3};
    unsigned done = 0;
    for (int round = 0; round < 40000; round++) {
        char text_bytes[256], old_bytes[64], new_bytes[64];
        struct sv text =
            sv_make(text_bytes, make_text(text_bytes, random_below(&r, 30), &r));
        struct edit_request edit = {
            sv_make(old_bytes, make_text(old_bytes, 1 + random_below(&r, 6), &r)),
            sv_make(new_bytes, make_text(new_bytes, random_below(&r, 7), &r)),
        };
        struct edit_match m;
        assert_int_equal(edit_match_find(&m, text, edit.old_text, NULL), PI_OK);
        struct outcome o = run(text, &edit, 1);
        if (o.status == PI_OK) {
            struct sv after = buf_sv(&o.text);
            size_t suffix = text.n - m.end;
            assert_true(after.n >= m.start + suffix);
            assert_memory_equal(after.p, text.p, m.start);
            assert_true(sv_ends(after, sv_from(text, m.end)));
            struct buf wanted = {0};
            buf_add(&wanted, text.p, m.start);
            buf_addsv(&wanted, edit.new_text);
            buf_addsv(&wanted, sv_from(text, m.end));
            assert_true(look_alike(after, buf_sv(&wanted)));
            buf_finish(&wanted);
            done++;
        }
        outcome_finish(&o);
    }
    assert_true(done > 1000);
}

static void test_miss_in_a_large_text(void **state)
{
    (void)state;
    struct buf text = {0};
    while (text.len < EDIT_MISS_BYTES + 1000) {
        buf_adds(&text,
                 "a long line that has nothing in common with what is asked for\n");
    }
    buf_adds(&text, "x\n\tcall_it(1);\n");
    struct edit_request edit = {sv_of("    call_it(1);"), sv_of("")};
    struct outcome o = run(buf_sv(&text), &edit, 1);
    assert_non_null(strstr(buf_cstr(&o.plan.problem), "indentation"));
    char line[40];
    snprintf(line, sizeof(line), "line %zu ",
             edit_line_number(buf_sv(&text), text.len) - 1);
    assert_non_null(strstr(buf_cstr(&o.plan.problem), line));
    outcome_finish(&o);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_outside_stay),
        cmocka_unit_test(test_new_text_is_literal),
        cmocka_unit_test(test_line_ends_of_the_surroundings),
        cmocka_unit_test(test_each_line_keeps_its_end),
        cmocka_unit_test(test_changes_are_small),
        cmocka_unit_test(test_changes_do_not_split_characters),
        cmocka_unit_test(test_fuzzy_keeps_what_is_not_changed),
        cmocka_unit_test(test_fuzzy_expanding_characters),
        cmocka_unit_test(test_joining_lines_takes_blanks_along),
        cmocka_unit_test(test_several_edits),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_names_the_edit),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_empty_and_same),
        cmocka_unit_test(test_line_numbers),
        cmocka_unit_test(test_line_numbers_never_reach_the_file),
        cmocka_unit_test(test_miss_indentation),
        cmocka_unit_test(test_miss_escaped_twice),
        cmocka_unit_test(test_miss_beside_signs),
        cmocka_unit_test(test_miss_case),
        cmocka_unit_test(test_miss_in_part),
        cmocka_unit_test(test_miss_line_end),
        cmocka_unit_test(test_miss_replacement),
        cmocka_unit_test(test_miss_similar),
        cmocka_unit_test(test_miss_in_a_large_text),
        cmocka_unit_test(test_any_edit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
