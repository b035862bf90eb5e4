#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oom.h"
#include "tool_fixture.h"
#include "tools.h"

// wrap: malloc calloc realloc strdup

static int setup(void **state)
{
    assert_int_equal(fixture_setup(state), 0);
    struct tool_fixture *f = *state;
    char command[700];
    snprintf(
        command, sizeof command,
        "cd '%s' && mkdir -p .git/info r/s && echo '*.o' >.gitignore && "
        "echo no >.git/info/exclude && echo x >r/s/a.o && echo x >r/mine && "
        "printf '[core]\nexcludesFile = ~/list\n' >.gitconfig && echo mine >list && echo "
        "x >r/no && "
        "printf 'x\\ny\\nx\\n' >r/s/f && printf 'x\\n' >\"r/s/$(printf 'n\\nl')\" && "
        "printf '\\377\\376x\\0\\n\\0' >r/wide && "
        "for d in 1 2 3; do mkdir -p many/$d && for i in $(seq 50); do "
        "echo x $i >many/$d/$i; done; done",
        f->dir);
    return system(command);
}

// Every allocation of a call fails once: the call then either says so or gives what it
// gives otherwise, never less.
static void check(struct tool_fixture *f, const struct pi_tool_definition *tool,
                  const char *args)
{
    assert_true(fixture_call(f, tool, args));
    char *expected = strdup(buf_cstr(&f->text));
    bool failed = true;
    size_t told = 0;
    for (size_t n = 1; failed; n++) {
        struct tool_call call = {.id = "1", .name = tool->name, .context = &f->context};
        struct tool_result result = {0};
        struct pi_error err = {0};
        struct buf text = {0};
        assert_int_equal(json_parse(&call.args, sv_of(args), NULL, NULL), PI_OK);
        assert_int_equal(tool->plan(&call.plan, call.args, &f->context, NULL), PI_OK);
        oom_start(n);
        enum pi_status st = tool->execute(&result, &call, &err);
        failed = oom_stop();
        assert_true(st == PI_OK || (failed && st == PI_NOMEM));
        told += st == PI_NOMEM;
        if (st == PI_OK) {
            content_text(&result.content, &text);
            assert_string_equal(buf_cstr(&text), expected);
        }
        buf_finish(&text);
        tool_result_finish(&result);
        tool_plan_finish(&call.plan);
        json_destroy(call.args);
    }
    assert_true(told > 0);
    free(expected);
}

static void test_grep(void **state)
{
    check(*state, &tool_grep, "{\"pattern\":\"x\",\"path\":\"r\",\"context\":1}");
    check(*state, &tool_grep, "{\"pattern\":\"x\",\"path\":\"r\",\"limit\":2}");
    check(*state, &tool_grep, "{\"pattern\":\"x\",\"path\":\"r/s/f\"}");
    check(*state, &tool_grep, "{\"pattern\":\"nowhere\"}");
    check(*state, &tool_grep, "{\"pattern\":\"x .*7\",\"path\":\"many\"}");
    check(*state, &tool_grep, "{\"pattern\":\"x\",\"path\":\"many\",\"limit\":80}");
}

static void test_find(void **state)
{
    check(*state, &tool_find, "{\"pattern\":\"**\",\"path\":\"r\"}");
    check(*state, &tool_find, "{\"pattern\":\"*.o\"}");
}

static void test_ls(void **state)
{
    check(*state, &tool_ls, "{\"path\":\"r/s\",\"limit\":2}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_grep, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_ls, setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
