#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "tool_fixture.h"
#include "tools.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

static void expect(struct tool_fixture *f, const char *args, const char *text)
{
    if (!fixture_call(f, &tool_grep, args)) {
        fail_msg("%s", buf_cstr(&f->text));
    }
    assert_string_equal(buf_cstr(&f->text), text);
}

static void expect_error(struct tool_fixture *f, const char *args, const char *part)
{
    assert_false(fixture_call(f, &tool_grep, args));
    assert_contains(f, part);
}

static void make_dir(struct tool_fixture *f, const char *name)
{
    char *path = fixture_path(f, name);
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
}

static void test_rows(void **state)
{
    struct tool_fixture *f = *state;
    make_dir(f, "d");
    fixture_put(f, "b", SV("one\ntwo\n"));
    fixture_put(f, "a", SV("two"));
    fixture_put(f, "d/.c", SV("x\n\ntwo two\n"));
    expect(f, "{\"pattern\":\"two\"}", "a:1: two\nb:2: two\nd/.c:3: two two");
    expect(f, "{\"pattern\":\"^t.o$\",\"path\":\"b\"}", "b:2: two");
    expect(f, "{\"pattern\":\"TWO\",\"ignoreCase\":true,\"path\":\"d\"}",
           ".c:3: two two");
    expect(f, "{\"pattern\":\"two\",\"limit\":3}", "a:1: two\nb:2: two\nd/.c:3: two two");
    assert_null(f->result.details);
    expect(f, "{\"pattern\":\"two\",\"limit\":2}",
           "a:1: two\nb:2: two\n\n[The first 2 matches by path; there are more. Use "
           "limit=4 or a narrower pattern, path or glob.]");
    assert_int_equal(json_get_num(f->result.details, "matchLimitReached", 0), 2);
}

static void test_line_by_line(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("foo\nbar\r\nfoo bar\n"));
    expect(f, "{\"pattern\":\"foo\\\\s+bar\"}", "a:3: foo bar");
    expect(f, "{\"pattern\":\"bar$\"}", "a:2: bar\na:3: foo bar");
    expect(f, "{\"pattern\":\"bar\\\\r\"}", "a:2: bar");
    expect(f, "{\"pattern\":\"foo(?!\\\\s*bar)\"}", "a:1: foo");
    expect(f, "{\"pattern\":\"\\\\Abar\"}", "a:2: bar");
    expect(f, "{\"pattern\":\"^[^x]*+$\"}", "a:1: foo\na:2: bar\na:3: foo bar");
    expect(f, "{\"pattern\":\"foo\\\\nbar\"}",
           "No matches in . (1 file searched). The search is line by line, so \\n "
           "matches nothing.");
    expect_error(f, "{\"pattern\":\"foo\\nbar\"}", "line break");
    expect_error(f, "{\"pattern\":\"\"}", "empty");
    expect_error(f, "{\"pattern\":\"foo(\"}", "set literal");
    expect(f, "{\"pattern\":\"x*\",\"limit\":5}", "a:1: foo\na:2: bar\na:3: foo bar");
}

static void test_context(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("1\nx2\n3\nx4\n5\n6\n7\n8\nx9\n"));
    expect(f, "{\"pattern\":\"x\",\"context\":1}",
           "a-1- 1\na:2: x2\na-3- 3\na:4: x4\na-5- 5\n--\na-8- 8\na:9: x9");
    expect(f, "{\"pattern\":\"x\",\"context\":2}",
           "a-1- 1\na:2: x2\na-3- 3\na:4: x4\na-5- 5\na-6- 6\na-7- 7\na-8- 8\na:9: x9");
    fixture_put(f, "b", SV("x"));
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"x\",\"context\":1}"));
    assert_contains(f, "a:9: x9\n--\nb:1: x");
}

static void test_glob(void **state)
{
    struct tool_fixture *f = *state;
    make_dir(f, "s");
    fixture_put(f, "a.c", SV("x"));
    fixture_put(f, "s/b.c", SV("x"));
    fixture_put(f, "s/b.h", SV("x"));
    expect(f, "{\"pattern\":\"x\",\"glob\":\"*.c\"}", "a.c:1: x\ns/b.c:1: x");
    expect(f, "{\"pattern\":\"x\",\"glob\":\"s/*\"}", "s/b.c:1: x\ns/b.h:1: x");
    expect(f, "{\"pattern\":\"x\",\"glob\":\"!*.c\"}", "s/b.h:1: x");
    expect(f, "{\"pattern\":\"x\",\"glob\":\"*.{h,x}\",\"path\":\"s\"}", "b.h:1: x");
    expect(f, "{\"pattern\":\"x\",\"glob\":\"*.py\"}",
           "No matches: no file in . matches the glob.");
}

static void test_ignored(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, ".gitignore", SV("*.o\n"));
    fixture_put(f, "a.o", SV("x"));
    expect(f, "{\"pattern\":\"x\"}",
           "No matches in . (1 file searched).\n\n[Not searched: 1 entry left out by "
           "ignore rules (ignored: true takes it in).]");
    expect(f, "{\"pattern\":\"x\",\"ignored\":true}", "a.o:1: x");
    expect(f, "{\"pattern\":\"x\",\"path\":\"a.o\"}", "a.o:1: x");
}

static void test_encodings(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "bom",
                SV("\xEF\xBB\xBF"
                   "x1\n"));
    fixture_put(f, "le", SV("\xFF\xFEx\0002\0\n\0"));
    fixture_put(f, "latin", SV("x\xE9\n"));
    fixture_put(f, "zip", SV("PK\3\4\0\0x"));
    expect(f, "{\"pattern\":\"^x\"}", "bom:1: x1\nlatin:1: x\xEF\xBF\xBD\nle:1: x2");
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"x\",\"path\":\"zip\"}"));
    assert_contains(f, "zip is a binary file (");
    assert_contains(f, "match at byte 6");
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"nowhere\"}"));
    assert_contains(f, "[Not searched: 1 binary file.]");
}

static void test_long_lines(void **state)
{
    struct tool_fixture *f = *state;
    struct buf text = {0};
    for (int i = 0; i < 1000000; i++) {
        buf_adds(&text, i == 600000 ? "needle" : "\xC3\xA9");
    }
    fixture_put(f, "a", buf_sv(&text));
    buf_finish(&text);
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"needle\"}"));
    assert_contains(f, "a:1: \xE2\x80\xA6\xC3\xA9");
    assert_contains(f, "\xC3\xA9needle\xC3\xA9");
    assert_contains(f, "[Long lines are cut to 500 bytes");
    assert_true(f->text.len < 700);
    assert_null(strstr(buf_cstr(&f->text), "\xEF\xBF\xBD"));
}

static void test_byte_cap(void **state)
{
    struct tool_fixture *f = *state;
    struct buf text = {0};
    for (int i = 0; i < 2000; i++) {
        buf_addf(&text, "x%0400d\n", i);
    }
    fixture_put(f, "a", buf_sv(&text));
    buf_finish(&text);
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"x\",\"limit\":5000}"));
    assert_true(f->text.len < 52000);
    assert_contains(f, "[There are more than the 125 rows shown, which fill 50.0KB.");
    assert_non_null(json_get(f->result.details, "truncation"));
}

static void test_too_complex(void **state)
{
    struct tool_fixture *f = *state;
    struct buf text = {0};
    buf_adds(&text, "fine b\n");
    for (int i = 0; i < 60; i++) {
        buf_adds(&text, "aaaaaaaaaa");
    }
    buf_adds(&text, "bc\nab\n");
    fixture_put(f, "a", buf_sv(&text));
    buf_finish(&text);
    expect_error(f, "{\"pattern\":\"^(a|aa)+$\"}", "too complex for a:2");
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"^(a|aa)+b$\"}"));
    assert_contains(f, "a:3: ab\n\n[The pattern is too complex for 1 line, the first at "
                       "a:2;");
}

static void test_odd_names(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "bad\xff'.txt", SV("x"));
    fixture_put(f, "nl\nname.txt", SV("x"));
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"x\"}"));
    assert_contains(f, "$'bad\\xff\\'.txt':1: x\n$'nl\\nname.txt':1: x\n\n[Names");
}

static void test_wrong_targets(void **state)
{
    struct tool_fixture *f = *state;
    char *pipe = fixture_path(f, "fifo");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    free(pipe);
    expect_error(f, "{\"pattern\":\"x\",\"path\":\"missing\"}", "no such file or folder");
    expect_error(f, "{\"pattern\":\"x\",\"path\":\"fifo\"}", "FIFO");
    expect_error(f, "{\"pattern\":\"x\",\"limit\":0}", "at least 1");
    expect(f, "{\"pattern\":\"x\"}", "No matches in . (0 files searched).");
    f->context.restrict_dir = "/nowhere";
    expect_error(f, "{\"pattern\":\"x\"}", "outside /nowhere");
}

// Jumping from match to match must find what looking at each line finds. A pattern that
// looks around takes the slow way and means the same.
// 60 folders with 12 files each, so that several threads search; the hit in every file is
// in its second line.
static void put_many(struct tool_fixture *f)
{
    for (int d = 0; d < 60; d++) {
        char name[32];
        snprintf(name, sizeof name, "d%02d", d);
        make_dir(f, name);
        for (int i = 0; i < 12; i++) {
            snprintf(name, sizeof name, "d%02d/f%02d", d, i);
            fixture_put(f, name, SV("before\nthe hit\nafter\nlast\n"));
        }
    }
}

// The rows of the first n files of put_many().
static void add_many(struct buf *out, int n, bool context)
{
    for (int k = 0; k < n; k++) {
        int d = k / 12, i = k % 12;
        if (context) {
            buf_addf(out, "%sd%02d/f%02d-1- before\n", k > 0 ? "--\n" : "", d, i);
        }
        buf_addf(out, "d%02d/f%02d:2: the hit\n", d, i);
        if (context) {
            buf_addf(out, "d%02d/f%02d-3- after\n", d, i);
        }
    }
    buf_truncate(out, out->len - 1);
}

static void test_many_files(void **state)
{
    struct tool_fixture *f = *state;
    struct buf all = {0};
    put_many(f);
    add_many(&all, 720, false);
    expect(f, "{\"pattern\":\"hit\",\"limit\":720}", buf_cstr(&all));
    buf_clear(&all);
    add_many(&all, 720, true);
    expect(f, "{\"pattern\":\"hit\",\"limit\":720,\"context\":1}", buf_cstr(&all));

    static const int limits[] = {1, 63, 64, 65, 66, 100, 400, 719};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char args[100];
        snprintf(args, sizeof args, "{\"pattern\":\"hit\",\"limit\":%d}", limits[i]);
        buf_clear(&all);
        add_many(&all, limits[i], false);
        buf_addf(&all,
                 "\n\n[The first %d match%s by path; there are more. Use limit=%d or a "
                 "narrower pattern, path or glob.]",
                 limits[i], limits[i] == 1 ? "" : "es", 2 * limits[i]);
        expect(f, args, buf_cstr(&all));
    }
    buf_finish(&all);
    fixture_put(f, "d59/z", SV("needle"));
    fixture_put(f, "d30/y\nz", SV("needle"));
    fixture_put(f, "d31/b", SV("\0needle"));
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"needle\"}"));
    assert_contains(f, "$'d30/y\\nz':1: needle\nd59/z:1: needle\n\n[Names written as");
    expect(f, "{\"pattern\":\"none\"}",
           "No matches in . (722 files searched).\n\n[Not searched: 1 binary file.]");
}

// The byte cap ends the search where it would with one thread.
static void test_many_rows(void **state)
{
    struct tool_fixture *f = *state;
    struct buf line = {0};
    for (int i = 0; i < 49; i++) {
        buf_adds(&line, "0123456789");
    }
    for (int i = 0; i < 400; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%03d", i);
        fixture_put(f, name, buf_sv(&line));
    }
    buf_finish(&line);
    assert_true(fixture_call(f, &tool_grep, "{\"pattern\":\"0\",\"limit\":1000}"));
    // Each row: the name, ":1: ", the line, LF.
    assert_contains(f, "\nf101:1: ");
    assert_null(strstr(buf_cstr(&f->text), "\nf102:1: "));
    assert_contains(f, "[There are more than the 102 rows shown, which fill 50.0KB.");
}

static void test_many_complex(void **state)
{
    struct tool_fixture *f = *state;
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%03d", i);
        bool bad = i >= 70 && i % 2 == 0;
        fixture_put(f, name,
                    bad ? SV("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") : SV("b"));
    }
    expect_error(f, "{\"pattern\":\"^(a+)+$\"}", "the pattern is too complex for f070:1");
}

static void test_many_aborted(void **state)
{
    struct tool_fixture *f = *state;
    put_many(f);
    assert_int_equal(cancel_create(&f->cancel, NULL, NULL), PI_OK);
    cancel_set(f->cancel);
    assert_false(fixture_call(f, &tool_grep, "{\"pattern\":\"hit\"}"));
    cancel_unref(f->cancel);
    f->cancel = NULL;
}

static void test_odd_patterns(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("-v --x\n[a\n(b\n{1,2}\nfoobar\n\xff\xfe bytes\n"));
    expect(f, "{\"pattern\":\"-v\"}", "a:1: -v --x");
    expect(f, "{\"pattern\":\"--x\"}", "a:1: -v --x");
    expect(f, "{\"pattern\":\"foo(?=bar)\"}", "a:5: foobar");
    expect(f, "{\"pattern\":\"(?<!x)bar\"}", "a:5: foobar");
    expect(f, "{\"pattern\":\"{1,2}\",\"literal\":true}", "a:4: {1,2}");
    expect(f, "{\"pattern\":\"{1,\"}", "a:4: {1,2}");
    expect_error(f, "{\"pattern\":\"{1,2}\"}", "set literal");
    expect(f, "{\"pattern\":\"[a\",\"literal\":true}", "a:2: [a");
    expect(f, "{\"pattern\":\"(b\",\"literal\":true}", "a:3: (b");
    expect(f, "{\"pattern\":\"bytes\"}", "a:6: \uFFFD\uFFFD bytes");
    expect_error(f, "{\"pattern\":\"[a\"}", "at byte 2; to search for the text as it");
    expect_error(f, "{\"pattern\":\"(b\"}", "set literal");
    expect_error(f, "{\"pattern\":\"b)\"}", "set literal");
    expect_error(f, "{\"pattern\":\"a{2,1}\"}", "set literal");
    expect_error(f, "{\"pattern\":\"*\"}", "set literal");
    expect_error(f, "{\"pattern\":\"a\\nb\"}", "line by line");
}

static void test_both_ways(void **state)
{
    struct tool_fixture *f = *state;
    static const char *const patterns[] = {"a+b",   "^a",           "b$",     "[^a]b",
                                           "\\\\s", "(a|b)\\\\1",   "a\\\\b", "^$",
                                           "a.*b",  "(?:a|\\\\s)b", "\\\\W",  "^.?$"};
    struct random r = {.state = 99};
    for (int round = 0; round < 200; round++) {
        char text[60];
        size_t n = random_below(&r, sizeof text);
        for (size_t i = 0; i < n; i++) {
            text[i] = "ab \n\n\rb"[random_below(&r, 7)];
        }
        fixture_put(f, "t", sv_make(text, n));
        const char *pattern = patterns[round % 12];
        char args[200];
        snprintf(args, sizeof args, "{\"pattern\":\"%s\"}", pattern);
        (void)fixture_call(f, &tool_grep, args);
        char *fast = strdup(buf_cstr(&f->text));
        snprintf(args, sizeof args, "{\"pattern\":\"(?=)%s\"}", pattern);
        (void)fixture_call(f, &tool_grep, args);
        assert_string_equal(fast, buf_cstr(&f->text));
        free(fast);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_line_by_line, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_context, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_glob, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_ignored, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_encodings, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_long_lines, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_byte_cap, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_too_complex, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_odd_names, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_wrong_targets, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many_files, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many_rows, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many_complex, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many_aborted, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_odd_patterns, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_both_ways, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
