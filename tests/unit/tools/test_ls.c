#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool_fixture.h"
#include "tools.h"

static void expect(struct tool_fixture *f, const char *args, const char *text)
{
    if (!fixture_call(f, &tool_ls, args)) {
        fail_msg("%s", buf_cstr(&f->text));
    }
    assert_string_equal(buf_cstr(&f->text), text);
}

static void expect_error(struct tool_fixture *f, const char *args, const char *part)
{
    assert_false(fixture_call(f, &tool_ls, args));
    assert_contains(f, part);
}

static void sh(const struct tool_fixture *f, const char *commands)
{
    char line[800];
    snprintf(line, sizeof line, "cd '%s' && { %s; }", f->dir, commands);
    assert_int_equal(system(line), 0);
}

static void test_entries(void **state)
{
    struct tool_fixture *f = *state;
    expect(f, "{}", "(empty folder)");
    sh(f, "mkdir b .git && touch a B1 .h && ln -s b to && ln -s nowhere broken && "
          "ln -s loop loop && mkfifo pipe && echo a >.gitignore");
    expect(f, "{}",
           ".git/\n.gitignore\n.h\na\nb/\nB1\nbroken -> nowhere (broken link)\n"
           "loop -> loop (broken link)\npipe (FIFO)\nto/");
    expect(f, "{\"path\":\"b\"}", "(empty folder)");
    expect(f, "{\"limit\":2}",
           ".git/\n.gitignore\n\n[2 of 10 entries are shown. Use limit=10 for all.]");
    assert_int_equal(json_get_num(f->result.details, "entryLimitReached", 0), 2);
}

static void test_errors(void **state)
{
    struct tool_fixture *f = *state;
    sh(f, "touch a");
    expect_error(f, "{\"path\":\"a\"}", "not a folder");
    expect_error(f, "{\"path\":\"none\"}", "no such folder");
    expect_error(f, "{\"limit\":0}", "at least 1");
    f->context.restrict_dir = "/nowhere";
    expect_error(f, "{}", "outside /nowhere");
}

static void test_many(void **state)
{
    struct tool_fixture *f = *state;
    sh(f, "i=100; while [ $i -lt 700 ]; do : >f$i; i=$((i+1)); done");
    assert_true(fixture_call(f, &tool_ls, "{}"));
    assert_contains(f, "f599\n\n[500 of 600 entries are shown.");
    assert_true(fixture_call(f, &tool_ls, "{\"limit\":600}"));
    assert_null(strchr(buf_cstr(&f->text), '['));
}

static void test_odd_names(void **state)
{
    struct tool_fixture *f = *state;
    sh(f, "touch \"$(printf 'z\\n1')\" \"$(printf 'z\\376')\"");
    assert_true(fixture_call(f, &tool_ls, "{}"));
    assert_contains(f, "$'z\\n1'\n$'z\\xfe'\n\n[Names");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_entries, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_errors, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_odd_names, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
