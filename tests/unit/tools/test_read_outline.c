#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "syntax/parse.h"
#include "syntax_fixture.h"
#include "tools.h"

// wrap: ts_parser_parse_string

TSTree *__real_ts_parser_parse_string(TSParser *parser, const TSTree *old,
                                      const char *text, uint32_t n);
TSTree *__wrap_ts_parser_parse_string(TSParser *parser, const TSTree *old,
                                      const char *text, uint32_t n);

static bool slow; // the parser has not come to an end yet

TSTree *__wrap_ts_parser_parse_string(TSParser *parser, const TSTree *old,
                                      const char *text, uint32_t n)
{
    return slow ? NULL : __real_ts_parser_parse_string(parser, old, text, n);
}

// 3000 lines with two functions.
static void put_long(struct tool_fixture *f, const char *name)
{
    struct buf text = {0};
    buf_adds(&text, "int first(void)\n{\n");
    for (int i = 0; i < 2500; i++) {
        buf_adds(&text, "    x();\n");
    }
    buf_adds(&text, "}\n\nint second(void)\n{\n}\n");
    fixture_put(f, name, buf_sv(&text));
    buf_finish(&text);
}

#define ROWS                                                                             \
    "[Outline of 2507 lines:\n1-2503 function first\n2505-2507 function second\n"        \
    "Use offset and limit to read what you need.]"

static void test_long_file(void **state)
{
    struct tool_fixture *f = *state;
    put_long(f, "a.c");
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\"}"));
    assert_contains(
        f, "[Showing lines 1-2000 of 2507. Use offset=2001 to continue.]\n" ROWS);
    // The next page does not repeat it, and a part that was asked for does not need it.
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"offset\":2001}"));
    assert_null(strstr(buf_cstr(&f->text), "Outline"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"limit\":10}"));
    assert_null(strstr(buf_cstr(&f->text), "Outline"));
    // No language, no outline.
    put_long(f, "a.txt");
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.txt\"}"));
    assert_null(strstr(buf_cstr(&f->text), "utline"));
}

static void test_asked(void **state)
{
    struct tool_fixture *f = *state;
    put_long(f, "a.c");
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"outline\":true}"));
    assert_string_equal(buf_cstr(&f->text), ROWS);
    assert_null(f->result.details);
    assert_true(
        fixture_call(f, &tool_read,
                     "{\"path\":\"a.c\",\"outline\":true,\"offset\":2505,\"limit\":2}"));
    assert_string_equal(buf_cstr(&f->text),
                        "int second(void)\n{\n\n[1 more line in file. Use offset=2507 to "
                        "continue.]\n" ROWS);
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"outline\":false}"));
    assert_contains(f, "x();");
}

// An outline is not the text: what the model may overwrite it has not seen by it.
static void test_memory(void **state)
{
    struct tool_fixture *f = *state;
    put_long(f, "a.c");
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\"}"));
    fixture_put(f, "a.c", sv_of("int other(void) {}\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"outline\":true}"));
    assert_contains(f, "1 function other");
    assert_false(
        fixture_call(f, &tool_write, "{\"path\":\"a.c\",\"content\":\"int a;\\n\"}"));
    assert_contains(f, "changed by somebody else");
}

static void test_none(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.txt", sv_of("text\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.txt\",\"outline\":true}"));
    assert_contains(f, "text\n\n[There is no outline of this file: its language is not "
                       "known.]");
    fixture_put(f, "a.html", sv_of("<p>\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.html\",\"outline\":true}"));
    assert_contains(f,
                    "<p>\n\n[There is no outline of this file: its language has none.]");
    fixture_put(f, "a.c", sv_of("/* nothing */\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"outline\":true}"));
    assert_contains(f, "outline of this file: nothing was found for one.]");
    fixture_put(f, "c.c", (struct sv){"\0\1\2\3", 4});
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"c.c\",\"outline\":true}"));
    assert_contains(f, "is a binary file");

    struct buf large = {0};
    while (large.len < 3 * 1024 * 1024) {
        buf_adds(&large, "int f(void) { return 1; }\n");
    }
    fixture_put(f, "large.c", buf_sv(&large));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"large.c\"}"));
    assert_null(strstr(buf_cstr(&f->text), "utline"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"large.c\",\"outline\":true}"));
    assert_contains(f, "[There is no outline of this file: it has more than 2 MiB.]");
    buf_finish(&large);
}

static void test_slow(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.c", sv_of("int f(void) {}\n"));
    slow = true;
    bool ok = fixture_call(f, &tool_read, "{\"path\":\"a.c\",\"outline\":true}");
    slow = false;
    assert_true(ok);
    assert_contains(f, "int f(void) {}\n\n[There is no outline of this file: it takes "
                       "too long to parse.]");
}

static void test_utf16(void **state)
{
    struct tool_fixture *f = *state;
    const char text[] = "def f():\n  pass\n";
    struct buf wide = {0};
    buf_add(&wide, "\xff\xfe", 2);
    for (size_t i = 0; text[i]; i++) {
        buf_addc(&wide, text[i]);
        buf_addc(&wide, '\0');
    }
    fixture_put(f, "a.py", buf_sv(&wide));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.py\",\"outline\":true}"));
    assert_contains(f, "1-2 function f\n");
    buf_finish(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_long_file, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_asked, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_memory, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_none, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_slow, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_utf16, tool_setup, tool_teardown),
    };
    syntax_need_grammars();
    return cmocka_run_group_tests_name("tools/read_outline", tests, NULL, NULL);
}
