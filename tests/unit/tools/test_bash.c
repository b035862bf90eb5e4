#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/file.h"
#include "tool/exec.h"
#include "tools.h"

struct fixture {
    char dir[64];
    struct env env;
    struct tool_context context;
    struct tool_call call;
    struct tool_result result;
    struct pi_error err;
    struct buf text;  // of the result
    struct buf shown; // the updates joined
    int shows;
    int64_t ms;
};

static void progress(const struct tool_call *call, const struct tool_update *update)
{
    struct fixture *f = call->owner;
    f->shows++;
    buf_addsv(&f->shown, update->text);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const char *const more[][2] = {{"EDITOR", "vi"},
                                   {"GIT_EDITOR", ""},
                                   {"TERM", "xterm"},
                                   {"BASH_ENV", "/nonexistent/file"},
                                   {"ENV", "/nonexistent/file"},
                                   {"BASH_FUNC_which%%", "() { echo hijack; }"},
                                   {"SHELLOPTS", "xtrace"},
                                   {"CDPATH", "/usr"}};
    *state = f;
    snprintf(f->dir, sizeof f->dir, "/tmp/pi-test-bash-XXXXXX");
    if (!mkdtemp(f->dir) || env_copy(&f->env, NULL, NULL) != PI_OK) {
        return -1;
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (!env_set(&f->env, more[i][0], more[i][1])) {
            return -1;
        }
    }
    f->context = (struct tool_context){
        .cwd = f->dir,
        .environment = &f->env,
        .guard_path = getenv("PI_GUARD"),
        .temp_dir = f->dir,
    };
    f->call = (struct tool_call){.id = "1",
                                 .name = "bash",
                                 .context = &f->context,
                                 .progress = progress,
                                 .owner = f};
    return process_jobs_create(&f->context.jobs, NULL) == PI_OK &&
                   cancel_create(&f->call.cancel, NULL, NULL) == PI_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    process_jobs_destroy(f->context.jobs);
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    int rc = system(command);
    env_finish(&f->env);
    cancel_unref(f->call.cancel);
    tool_result_finish(&f->result);
    json_destroy(f->call.args);
    buf_finish(&f->text);
    buf_finish(&f->shown);
    free(f);
    return rc;
}

static enum pi_status call(struct fixture *f, const char *command, double timeout)
{
    json_destroy(f->call.args);
    tool_result_finish(&f->result);
    f->result = (struct tool_result){0};
    buf_clear(&f->text);
    buf_clear(&f->shown);
    f->call.args = json_new_object();
    assert_true(json_set_str(f->call.args, "command", command));
    if (timeout != 0) {
        assert_true(json_set(f->call.args, "timeout", json_new_num(timeout)));
    }
    assert_int_equal(tool_bash.plan(&f->call.plan, f->call.args, &f->context, &f->err),
                     PI_OK);
    int64_t start = clock_mono_ms();
    enum pi_status status = tool_bash.execute(&f->result, &f->call, &f->err);
    f->ms = clock_mono_ms() - start;
    tool_plan_finish(&f->call.plan);
    f->call.plan = (struct tool_plan){0};
    content_text(&f->result.content, &f->text);
    return status;
}

/** The text of a result that was expected to come. */
static const char *run(struct fixture *f, const char *command, bool is_error)
{
    enum pi_status status = call(f, command, 0);
    if (status != PI_OK) {
        fail_msg("%s: %s", command, f->err.message);
    }
    if (f->result.is_error != is_error) {
        fail_msg("%s: %s", command, buf_cstr(&f->text));
    }
    return buf_cstr(&f->text);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("no \"%s\" in \"%s\"", part, text);
    }
}

static void test_plan(void **state)
{
    struct fixture *f = *state;
    struct tool_plan plan = {0};
    struct json *args = json_new_object();
    assert_true(json_set_str(args, "command", "make"));
    f->context.shell_command_prefix = "set -e";
    assert_int_equal(tool_bash.plan(&plan, args, &f->context, NULL), PI_OK);
    assert_int_equal(plan.effect, TOOL_EXEC);
    assert_string_equal(plan.command, "set -e\nmake");
    tool_plan_finish(&plan);
    json_destroy(args);
}

static void test_schema_is_json(void **state)
{
    (void)state;
    struct json *schema = NULL;
    assert_int_equal(json_parse(&schema, sv_of(tool_bash.parameters), NULL, NULL), PI_OK);
    json_destroy(schema);
}

static void test_results(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(run(f, "echo out; echo err >&2", false), "out\nerr\n");
    assert_null(f->result.details);
    assert_string_equal(run(f, "true", false), "(no output)");
    assert_string_equal(run(f, "exit 42", true),
                        "(no output)\n\nCommand exited with code 42");
    assert_string_equal(run(f, "echo a; exit 5", true),
                        "a\n\nCommand exited with code 5");
    assert_string_equal(run(f, "printf a; kill -SEGV $$", true),
                        "a\n\nCommand was killed by signal 11 (SIGSEGV)");
    has(run(f, "bash -c 'kill -9 $$'; exit $?", true),
        "\n\nCommand exited with code 137");
    assert_string_equal(run(f, "false | true; printf 'c\\n\\n'", false), "c\n\n");
    has(run(f, "kill -9 $PPID; sleep 9", true), "exit code is unknown");
}

static void test_timeout(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(call(f, "echo so far; sleep 30", 0.3), PI_OK);
    assert_true(f->result.is_error);
    assert_string_equal(buf_cstr(&f->text),
                        "so far\n\nCommand timed out after 0.3 seconds");
    assert_true(f->ms < 1500);
    assert_int_equal(call(f, "sleep 30", 1), PI_OK);
    assert_string_equal(buf_cstr(&f->text), "Command timed out after 1 seconds");
    assert_int_equal(call(f, "echo x", -5), PI_OK);
    assert_string_equal(buf_cstr(&f->text), "x\n");
    assert_int_equal(call(f, "echo x", 1e18), PI_OK);
    assert_string_equal(buf_cstr(&f->text), "x\n");
}

static void *cancel_soon(void *data)
{
    usleep(200 * 1000);
    cancel_set(data);
    return NULL;
}

static void test_abort(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, f->call.cancel);
    assert_string_equal(run(f, "seq 3000; sleep 30", true) + f->text.len - 15,
                        "Command aborted");
    pthread_join(thread, NULL);
    assert_true(f->ms < 1900);
    has(buf_cstr(&f->text), "3000\n\n[Showing lines 1001-3000 of 3000. Full output: ");
    assert_non_null(json_get_str(f->result.details, "fullOutputPath"));
    assert_string_equal(run(f, "echo never", true), "Command aborted");
}

static void test_environment(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(
        run(f, "echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $EDITOR", false),
        "dumb cat cat 0 true\n");
    assert_string_equal(
        run(f, "echo ok; type -t which; shopt -qo xtrace; echo $? $-", false),
        "ok\nfile\n1 hBc\n");
    assert_string_equal(run(f, "mkdir local; cd local && pwd | grep -c test-bash", false),
                        "1\n");
    assert_string_equal(run(f, "test -t 0 -o -t 1 && echo TTY; cat; echo end", false),
                        "end\n");
    f->context.environment = NULL;
    assert_string_equal(run(f, "echo $HOME:$TERM", false), ":dumb\n");
}

static void test_git_wants_an_editor(void **state)
{
    struct fixture *f = *state;
    const char *command = "git init -q . && export GIT_CONFIG_GLOBAL=/dev/null\n"
                          "git='git -c user.email=a@b -c user.name=n'\n"
                          "$git commit --allow-empty -q -m one &&\n"
                          "$git commit --allow-empty --amend -q; echo rc=$?";
    assert_string_equal(run(f, command, false), "rc=0\n");
    assert_true(f->ms < 3000);
}

static void test_command_is_verbatim(void **state)
{
    struct fixture *f = *state;
    const char *command = "printf '[%s]' ' ! ' \"c != d\" x! !x; echo; cat <<'END'\n"
                          "Stop! a !~ b `!`\nEND\n[ 3 != 4 ] && ! false && echo logic-ok";
    assert_string_equal(run(f, command, false),
                        "[ ! ][c != d][x!][!x]\nStop! a !~ b `!`\nlogic-ok\n");
    f->context.shell_command_prefix = "x=prefix";
    assert_string_equal(run(f, "echo $x", false), "prefix\n");
}

static void test_shell_setting(void **state)
{
    struct fixture *f = *state;
    f->context.shell_path = "/bin/sh";
    assert_string_equal(run(f, "echo $0", false), "sh\n");
    f->context.shell_path = "bin/sh";
    assert_int_equal(call(f, "true", 0), PI_INVALID);
    has(f->err.message, "shellPath");
    f->context.shell_path = "/nonexistent/sh";
    assert_int_equal(call(f, "true", 0), PI_NOT_FOUND);
    has(f->err.message, "/nonexistent/sh");
}

static void test_what_is_missing_is_named(void **state)
{
    struct fixture *f = *state;
    f->context.cwd = "/nonexistent/project";
    assert_int_equal(call(f, "true", 0), PI_NOT_FOUND);
    has(f->err.message, "/nonexistent/project");
    f->context.cwd = f->dir;
    f->context.guard_path = "/nonexistent/pi-guard";
    assert_int_equal(call(f, "true", 0), PI_NOT_FOUND);
    has(f->err.message, "/nonexistent/pi-guard");
    f->context.guard_path = NULL;
    assert_int_equal(call(f, "true", 0), PI_NOT_FOUND);
    has(f->err.message, "pi-guard");
}

static void test_terminal_noise(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(
        run(f,
            "printf '\\033[?25lLoading\\rLoading.\\033[?25h\\r\\nlink "
            "\\033]8;;http://x\\033\\\\text\\033]8;;\\033\\\\ ok\\r\\n"
            "red \\033[38;5;196mR\\033[0m\\n'; printf 'caf\\xc3'; sleep 0.05; "
            "printf '\\xa9\\n'",
            false),
        "Loading.\nlink text ok\nred R\ncaf\xc3\xa9\n");
}

static void test_large_output(void **state)
{
    struct fixture *f = *state;
    const char *text = run(f, "seq 100000; echo END; exit 3", true);
    has(text, "\n100000\nEND\n\n[Showing lines 98002-100001 of 100001. Full output: ");
    has(text, ".log]\n\nCommand exited with code 3");
    const char *path = json_get_str(f->result.details, "fullOutputPath");
    assert_true(strncmp(path, f->dir, strlen(f->dir)) == 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 588895 + 4);
    has(run(f, "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo END", false),
        "xEND\n\n[Showing last 50.0KB of line 1 (line is 2.9MB). Full output: ");
}

static void test_background(void **state)
{
    struct fixture *f = *state;
    const char *text = run(
        f, "(while :; do echo tick; sleep 0.02; done) & sleep 0.1; echo FG-DONE", false);
    assert_true(f->ms < 1500);
    has(text, "FG-DONE");
    has(text, "\n\n[Still running in the background: ");
    has(text, " bash");
    has(text, "Further output goes to ");
    char path[128];
    const char *at = strstr(text, f->dir);
    assert_non_null(at);
    snprintf(path, sizeof path, "%.*s", (int)(strstr(at, ".log") + 4 - at), at);
    usleep(100 * 1000);
    struct buf log = {0};
    assert_int_equal(file_load(&log, path, 1 << 20, NULL), PI_OK);
    const char *done = strstr(buf_cstr(&log), "FG-DONE\n");
    assert_non_null(done);
    has(done, "tick\ntick\n");
    buf_finish(&log);
    text = run(f,
               "sleep 30 >/dev/null 2>&1 & "
               "until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; echo x",
               false);
    assert_non_null(strstr(text, "x\n\n[Still running in the background: "));
    has(text, " sleep. Ends with this session.]");
}

static void test_updates(void **state)
{
    struct fixture *f = *state;
    run(f, "echo 1; sleep 0.15; printf 2; sleep 0.25; echo 3", false);
    assert_string_equal(buf_cstr(&f->shown), "1\n23\n");
    assert_in_range(f->shows, 2, 3);
    f->shows = 0;
    run(f, "for i in $(seq 200); do echo $i; sleep 0.001; done", false);
    assert_true(f->shows <= f->ms / 100 + 2);
    assert_string_equal(buf_cstr(&f->shown), buf_cstr(&f->text));
}

static enum pi_status other_place(void *data, char **command, char **cwd, struct env *env,
                                  struct pi_error *err)
{
    (void)data;
    free(*cwd);
    *cwd = strdup("/");
    if (strstr(*command, "refused")) {
        return error_set(err, PI_DENIED, "not here");
    }
    return env_set(env, "ADDED", "yes") ? PI_OK : error_nomem(err);
}

static void test_hook(void **state)
{
    struct fixture *f = *state;
    const struct exec_hook hook = {.before_spawn = other_place};
    f->context.exec_hook = &hook;
    assert_string_equal(run(f, "pwd; echo $ADDED", false), "/\nyes\n");
    assert_int_equal(call(f, "refused", 0), PI_DENIED);
}

static enum pi_status pretend(const struct process_request *request,
                              const struct process_sink *sink, struct cancel *cancel,
                              struct process_result *result, struct pi_error *err)
{
    (void)cancel;
    (void)err;
    sink->feed(sink->data, sv_of(request->command));
    result->code = 6;
    return PI_OK;
}

static void test_exec_elsewhere(void **state)
{
    struct fixture *f = *state;
    const struct exec_ops ops = {.run = pretend};
    f->context.exec = &ops;
    f->context.guard_path = NULL;
    assert_string_equal(run(f, "abc", true), "abc\n\nCommand exited with code 6");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_plan),
        cmocka_unit_test(test_schema_is_json),
        TEST(test_results),
        TEST(test_timeout),
        TEST(test_abort),
        TEST(test_environment),
        TEST(test_git_wants_an_editor),
        TEST(test_command_is_verbatim),
        TEST(test_shell_setting),
        TEST(test_what_is_missing_is_named),
        TEST(test_terminal_noise),
        TEST(test_large_output),
        TEST(test_background),
        TEST(test_updates),
        TEST(test_hook),
        TEST(test_exec_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
