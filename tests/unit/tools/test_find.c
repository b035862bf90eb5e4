#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool_fixture.h"
#include "tools.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

static void expect(struct tool_fixture *f, const char *args, const char *text)
{
    if (!fixture_call(f, &tool_find, args)) {
        fail_msg("%s", buf_cstr(&f->text));
    }
    assert_string_equal(buf_cstr(&f->text), text);
}

static void expect_error(struct tool_fixture *f, const char *args, const char *part)
{
    assert_false(fixture_call(f, &tool_find, args));
    assert_contains(f, part);
}

static int setup(void **state)
{
    assert_int_equal(fixture_setup(state), 0);
    struct tool_fixture *f = *state;
    char command[700];
    snprintf(command, sizeof command,
             "cd '%s' && mkdir -p src/p .git/info .gh node && touch src/A.java "
             "src/p/b.java README readme.md .gh/ci.yml .git/ci.yml node/x.js && "
             "ln -s src link && echo node >.gitignore",
             f->dir);
    return system(command);
}

static void test_patterns(void **state)
{
    struct tool_fixture *f = *state;
    expect(f, "{\"pattern\":\"*.java\"}", "src/A.java\nsrc/p/b.java");
    expect(f, "{\"pattern\":\"src/*.java\"}", "src/A.java");
    expect(f, "{\"pattern\":\"src/**/*.java\"}", "src/A.java\nsrc/p/b.java");
    expect(f, "{\"pattern\":\"./src/*.java\"}", "src/A.java");
    expect(f, "{\"pattern\":\"*.{yml,js}\"}", ".gh/ci.yml");
    expect(f, "{\"pattern\":\"readme*\"}", "README\nreadme.md");
    expect(f, "{\"pattern\":\"README*\"}", "README");
    expect(f, "{\"pattern\":\"*.java\",\"path\":\"src/p\"}", "b.java");
    expect(f, "{\"pattern\":\"p\"}", "src/p/");
    expect(f, "{\"pattern\":\"src/\"}", "src/");
    expect(f, "{\"pattern\":\"link\"}", "link");
    expect(f, "{\"pattern\":\"src/**\",\"limit\":2}",
           "src/A.java\nsrc/p/\n\n[The first 2 results by path; there are more. Use "
           "limit=4 or a narrower pattern or path.]");
    assert_int_equal(json_get_num(f->result.details, "resultLimitReached", 0), 2);
    char args[700];
    snprintf(args, sizeof args, "{\"pattern\":\"%s/src/*.java\"}", f->dir);
    expect(f, args, "src/A.java");
}

static void test_nothing(void **state)
{
    struct tool_fixture *f = *state;
    expect(
        f, "{\"pattern\":\"x.js\"}",
        "Nothing found (searched .).\n\n[Not searched: 1 entry left out by ignore rules "
        "(ignored: true takes it in).]");
    expect(f, "{\"pattern\":\"x.js\",\"ignored\":true}", "node/x.js");
    expect(f, "{\"pattern\":\"x.js\",\"path\":\"node\"}", "x.js");
    assert_true(fixture_call(f, &tool_find, "{\"pattern\":\"p/b.java\"}"));
    assert_contains(f, "put **/ in front");
}

static void test_errors(void **state)
{
    struct tool_fixture *f = *state;
    expect_error(f, "{\"pattern\":\"x\",\"path\":\"README\"}", "not a folder");
    expect_error(f, "{\"pattern\":\"x\",\"path\":\"none\"}", "no such folder");
    expect_error(f, "{\"pattern\":\"\"}", "missing");
    expect_error(f, "{\"pattern\":\"x\",\"limit\":0}", "at least 1");
    f->context.restrict_dir = "/nowhere";
    expect_error(f, "{\"pattern\":\"x\"}", "outside /nowhere");
}

static void test_odd_names(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "z\n1", SV(""));
    fixture_put(f, "z\xfe ", SV(""));
    assert_true(fixture_call(f, &tool_find, "{\"pattern\":\"z*\"}"));
    assert_contains(f, "$'z\\n1'\n$'z\\xfe '\n\n[Names written as $'...'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_patterns, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_nothing, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_odd_names, setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
