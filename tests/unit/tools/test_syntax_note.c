#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "syntax_fixture.h"
#include "tools.h"

static void test_edit(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.c", sv_of("int f(void)\n{\n    return g(1);\n}\n"));
    assert_true(fixture_call(f, &tool_edit,
                             "{\"path\":\"a.c\",\"edits\":[{\"oldText\":\"g(1)\","
                             "\"newText\":\"g(1\"}]}"));
    assert_contains(f, "Successfully replaced 1 block(s) in a.c.\n[The file now has ");
    assert_contains(f, "\nline 3, column 13: \"(\" is not closed: return g(1;]");
    fixture_expect(f, "a.c", sv_of("int f(void)\n{\n    return g(1;\n}\n"));

    assert_true(fixture_call(f, &tool_edit,
                             "{\"path\":\"a.c\",\"edits\":[{\"oldText\":\"g(1\","
                             "\"newText\":\"g(1)\"}]}"));
    assert_string_equal(buf_cstr(&f->text), "Successfully replaced 1 block(s) in a.c.");
}

static void test_write(void **state)
{
    struct tool_fixture *f = *state;
    assert_true(fixture_call(f, &tool_write,
                             "{\"path\":\"a.py\",\"content\":\"if x:\\ny()\\n\"}"));
    assert_contains(f, "\n[The file has a syntax error:\nline 1, "
                       "column 1: no indented block follows: if x:]");
    // The same error again is no news.
    assert_true(fixture_call(f, &tool_write,
                             "{\"path\":\"a.py\",\"content\":\"#\\nif x:\\ny()\\n\"}"));
    assert_string_equal(buf_cstr(&f->text), "Successfully wrote 12 bytes to a.py");
}

// With other line ends and encodings than the usual.
static void test_encodings(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.py",
                sv_of("\xEF\xBB\xBF"
                      "a = 1\r\nb = 2\r\n"));
    assert_true(fixture_call(f, &tool_edit,
                             "{\"path\":\"a.py\",\"edits\":[{\"oldText\":\"b = 2\","
                             "\"newText\":\"b = f(2\"}]}"));
    assert_contains(f, "\nline 2, column 6: \"(\" is not closed: b = f(2]");
    fixture_put(f, "b.py", sv_of("# \xe4\na = 1\n"));
    assert_true(fixture_call(f, &tool_edit,
                             "{\"path\":\"b.py\",\"edits\":[{\"oldText\":\"a = 1\","
                             "\"newText\":\"a = 2\"}]}"));
    assert_string_equal(buf_cstr(&f->text), "Successfully replaced 1 block(s) in b.py.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_edit, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_write, tool_setup, tool_teardown),
        cmocka_unit_test_setup_teardown(test_encodings, tool_setup, tool_teardown),
    };
    syntax_need_grammars();
    return cmocka_run_group_tests_name("tools/syntax_note", tests, NULL, NULL);
}
