#include "process_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void test_output_and_code(void **state)
{
    struct fixture *f = *state;
    int before = open_files();
    expect(f, "echo out; echo err >&2; cat; exit 5", PROCESS_EXITED, 5);
    assert_string_equal(text(f), "out\nerr\n");
    assert_int_equal(f->result.left, 0);
    expect(f, "pwd; echo \"$0\"", PROCESS_EXITED, 0);
    assert_non_null(strstr(text(f), f->dir));
    assert_non_null(strstr(text(f), "\nbash\n"));
    assert_int_equal(open_files(), before);
}

static void test_signals_are_told(void **state)
{
    struct fixture *f = *state;
    expect(f, "echo a; kill -SEGV $$", PROCESS_SIGNALED, SIGSEGV);
    assert_string_equal(text(f), "a\n");
    expect(f, "kill -9 0", PROCESS_SIGNALED, SIGKILL);
    expect(f, "bash -c 'kill -TERM $$'; exit $?", PROCESS_EXITED, 143);
}

static void test_clean_start(void **state)
{
    struct fixture *f = *state;
    signal(SIGPIPE, SIG_IGN);
    expect(f, "grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f 2", PROCESS_EXITED, 0);
    signal(SIGPIPE, SIG_DFL);
    char *rest = NULL;
    // 1 to 31 only: the C library keeps two higher ones for itself.
    const unsigned long long standard = 0x7fffffff;
    assert_int_equal(strtoull(text(f), &rest, 16) & standard, 0);
    assert_int_equal(strtoull(rest, NULL, 16) & standard, 0);
    expect(f, "ls /proc/self/fd | wc -l", PROCESS_EXITED, 0);
    assert_string_equal(text(f), "4\n");
    expect(f, "(exec 3</dev/tty) 2>/dev/null || echo none", PROCESS_EXITED, 0);
    assert_string_equal(text(f), "none\n");
}

static void test_environment_is_the_given_one(void **state)
{
    struct fixture *f = *state;
    const char *const list[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};
    struct env env;
    assert_int_equal(env_copy(&env, list, NULL), PI_OK);
    f->request.environment = &env;
    expect(f, "env | grep -vE '^(PWD|SHLVL|_)=' | sort", PROCESS_EXITED, 0);
    assert_string_equal(text(f), "ONLY=this\nPATH=/usr/bin:/bin\n");
    env_finish(&env);
}

static void test_what_cannot_start(void **state)
{
    struct fixture *f = *state;
    f->request.cwd = "/nonexistent/dir";
    assert_int_equal(run(f, "true"), PI_NOT_FOUND);
    assert_non_null(strstr(f->err.message, "/nonexistent/dir"));
    f->request.cwd = f->dir;
    f->request.shell = "/nonexistent/sh";
    assert_int_equal(run(f, "true"), PI_NOT_FOUND);
    assert_non_null(strstr(f->err.message, "/nonexistent/sh"));
    f->request.shell = "/bin/bash";
    f->request.guard_path = "/nonexistent/guard";
    assert_int_equal(run(f, "true"), PI_NOT_FOUND);
    assert_non_null(strstr(f->err.message, "/nonexistent/guard"));
    f->request.guard_path = "/bin/true";
    assert_int_equal(run(f, "true"), PI_IO);
    assert_non_null(strstr(f->err.message, "/bin/true"));
}

static void test_timeout_keeps_output(void **state)
{
    struct fixture *f = *state;
    f->request.timeout_s = 0.2;
    expect(f, "echo one; sleep 30; echo two", PROCESS_TIMED_OUT, 0);
    assert_string_equal(text(f), "one\n");
    assert_in_range(f->ms, 190, 1900);
    f->request.timeout_s = 1e300;
    expect(f, "echo x", PROCESS_EXITED, 0);
    f->request.timeout_s = -1;
    expect(f, "echo x", PROCESS_EXITED, 0);
}

static void test_timeout_ends_those_that_ignore_term_and_left_the_session(void **state)
{
    struct fixture *f = *state;
    f->request.timeout_s = 0.3;
    expect(f,
           "bash -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' &\n"
           "setsid bash -c 'echo $$ > away; exec sleep 40' &\n"
           "wait",
           PROCESS_TIMED_OUT, 0);
    assert_in_range(f->ms, 2200, 3000);
    assert_false(alive(pid_in(f, "stubborn")));
    assert_false(alive(pid_in(f, "away")));
}

static void *cancel_soon(void *data)
{
    usleep(200 * 1000);
    cancel_set(data);
    return NULL;
}

static void *cancel_twice(void *data)
{
    usleep(200 * 1000);
    cancel_set(data);
    usleep(200 * 1000);
    cancel_set_urgent(data);
    return NULL;
}

/** Whether any process has this variable in its environment. */
static bool marked_alive(const char *mark)
{
    char command[160];
    snprintf(command, sizeof command,
             "grep -sqz '^MARK=%s$' $(ls -d /proc/[0-9]*/environ | grep -v /$$/)", mark);
    return system(command) == 0;
}

static void test_timeout_ends_a_crowd_that_goes_on_forking(void **state)
{
    struct fixture *f = *state;
    char mark[32];
    snprintf(mark, sizeof mark, "crowd-%d", (int)getpid());
    assert_true(env_set(&f->env, "MARK", mark));
    f->request.timeout_s = 0.3;
    expect(f,
           "trap '' TERM\n"
           "while :; do (setsid sleep 30 &); (sleep 30 &); sleep 0.005; done > /dev/null "
           "2>&1",
           PROCESS_TIMED_OUT, 0);
    assert_in_range(f->ms, 2200, 3400);
    assert_false(marked_alive(mark));
}

static void test_no_descriptors_left(void **state)
{
    struct fixture *f = *state;
    int before = open_files();
    struct rlimit old;
    getrlimit(RLIMIT_NOFILE, &old);
    bool failed = false;
    bool worked = false;
    for (rlim_t limit = 5; limit < 40; limit++) {
        const struct rlimit low = {.rlim_cur = limit, .rlim_max = old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &low);
        enum pi_status status = run(f, "exit 3");
        setrlimit(RLIMIT_NOFILE, &old);
        failed = failed || status == PI_IO;
        worked = worked || (status == PI_OK && f->result.code == 3);
        assert_true(status == PI_IO || (status == PI_OK && f->result.code == 3));
        assert_int_equal(open_files(), before);
    }
    assert_true(failed);
    assert_true(worked);
}

static void test_abort(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, f->cancel);
    expect(f, "trap 'echo bye; exit' TERM; echo hi; sleep 30 & wait", PROCESS_ABORTED, 0);
    pthread_join(thread, NULL);
    assert_string_equal(text(f), "hi\nbye\n");
    assert_in_range(f->ms, 190, 1500);
    expect(f, "echo never", PROCESS_ABORTED, 0);
    assert_string_equal(text(f), "");
}

static void test_abort_becomes_urgent(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_twice, f->cancel);
    expect(f, "trap '' TERM; while :; do sleep 0.05; done", PROCESS_ABORTED, 0);
    pthread_join(thread, NULL);
    assert_in_range(f->ms, 600, 1900);
}

static void test_abort_of_a_flood(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, f->cancel);
    expect(f, "while :; do echo x; done", PROCESS_ABORTED, 0);
    pthread_join(thread, NULL);
    assert_in_range(f->ms, 190, 1500);
}

static void test_stopped_shell_can_be_ended(void **state)
{
    struct fixture *f = *state;
    f->request.timeout_s = 0.2;
    expect(f, "kill -STOP $$", PROCESS_TIMED_OUT, 0);
    assert_in_range(f->ms, 190, 1500);
}

static void test_closed_output_is_not_the_end(void **state)
{
    struct fixture *f = *state;
    expect(f, "echo a; exec >&- 2>&-; sleep 0.3; exit 3", PROCESS_EXITED, 3);
    assert_true(f->ms >= 290);
}

static void test_killed_guard(void **state)
{
    struct fixture *f = *state;
    expect(f, "echo $$ > shell; echo before; kill -9 $PPID; sleep 30", PROCESS_LOST, 0);
    assert_string_equal(text(f), "before\n");
    assert_in_range(f->ms, 0, 1900);
    assert_true(dies(pid_in(f, "shell"), 500));
    expect(f, "kill -TERM $PPID; echo after", PROCESS_EXITED, 0);
    assert_string_equal(text(f), "after\n");
}

static void test_stopped_guard_can_be_ended(void **state)
{
    struct fixture *f = *state;
    f->request.timeout_s = 0.1;
    cancel_unref(f->cancel);
    f->cancel = NULL;
    expect(f, "kill -STOP $PPID; echo $$ > shell; sleep 30", PROCESS_TIMED_OUT, 0);
    assert_true(dies(pid_in(f, "shell"), 500));
    assert_in_range(f->ms, 3000, 4000);
}

static void test_guard_does_not_look_like_the_command(void **state)
{
    struct fixture *f = *state;
    expect(f, "pkill -KILL -f unlikely-name-of-a-server; true", PROCESS_SIGNALED,
           SIGKILL);
}

static void test_long_commands(void **state)
{
    struct fixture *f = *state;
    struct buf command = {0};
    buf_adds(&command, "cat > copy <<'END'\n");
    for (int i = 0; i < 100000; i++) {
        buf_addf(&command, "line %d with $HOME, \"quotes\" and `ticks`\n", i);
    }
    buf_adds(&command,
             "END\nwc -l < copy; tail -n 1 copy; echo $0; ls /proc/self/fd | wc -l\n"
             "exit 4\n");
    expect(f, buf_cstr(&command), PROCESS_EXITED, 4);
    assert_string_equal(text(f), "100000\n"
                                 "line 99999 with $HOME, \"quotes\" and `ticks`\n"
                                 "bash\n4\n");
    buf_finish(&command);
}

static void test_ignored_sigchld(void **state)
{
    struct fixture *f = *state;
    signal(SIGCHLD, SIG_IGN);
    expect(f, "exit 9", PROCESS_EXITED, 9);
    expect(f, "sleep 0.05; (exit 3); exit $?", PROCESS_EXITED, 3);
    signal(SIGCHLD, SIG_DFL);
}

static void test_foreign_children_are_left_alone(void **state)
{
    struct fixture *f = *state;
    pid_t other = fork();
    if (other == 0) {
        _exit(77);
    }
    expect(f, "exit 1", PROCESS_EXITED, 1);
    int status = 0;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 77);
}

static void test_file_limit_is_restored(void **state)
{
    struct fixture *f = *state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur <= 1024 || limit.rlim_cur == RLIM_INFINITY) {
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        struct rlimit low = {.rlim_cur = 1024, .rlim_max = limit.rlim_max};
        setrlimit(RLIMIT_NOFILE, &low);
        bool same = run(f, "ulimit -n") == PI_OK &&
                    (rlim_t)strtoull(text(f), NULL, 10) == limit.rlim_cur;
        _exit(same ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_kill_of_the_agent_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    pid_t agent = fork();
    if (agent == 0) {
        if (process_jobs_create(&f->request.jobs, NULL) != PI_OK) {
            _exit(1);
        }
        (void)run(f, "sleep 50 > /dev/null 2>&1 & echo $! > earlier");
        (void)run(
            f, "setsid bash -c 'echo $$ > away; sleep 40; true' & echo $$ > shell\n"
               "trap '' TERM; (trap - TERM; exec sleep 30) & echo $! > bg; wait; wait");
        _exit(0);
    }
    pid_t pids[] = {pid_in(f, "earlier"), pid_in(f, "away"), pid_in(f, "shell"),
                    pid_in(f, "bg")};
    for (size_t i = 0; i < 4; i++) {
        assert_true(alive(pids[i]));
    }
    kill(agent, SIGKILL);
    waitpid(agent, NULL, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(dies(pids[i], 3000));
    }
}

static void test_feed_is_called_again(void **state)
{
    struct fixture *f = *state;
    f->again = 20;
    expect(f, "echo x; sleep 0.3", PROCESS_EXITED, 0);
    assert_in_range(f->empty_calls, 3, 30);
    f->empty_calls = 0;
    f->again = -1;
    expect(f, "echo x; sleep 0.1", PROCESS_EXITED, 0);
    assert_int_equal(f->empty_calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(test_output_and_code),
        PROCESS_TEST(test_signals_are_told),
        PROCESS_TEST(test_clean_start),
        PROCESS_TEST(test_environment_is_the_given_one),
        PROCESS_TEST(test_what_cannot_start),
        PROCESS_TEST(test_timeout_keeps_output),
        PROCESS_TEST(test_timeout_ends_those_that_ignore_term_and_left_the_session),
        PROCESS_TEST(test_timeout_ends_a_crowd_that_goes_on_forking),
        PROCESS_TEST(test_no_descriptors_left),
        PROCESS_TEST(test_abort),
        PROCESS_TEST(test_abort_becomes_urgent),
        PROCESS_TEST(test_abort_of_a_flood),
        PROCESS_TEST(test_stopped_shell_can_be_ended),
        PROCESS_TEST(test_closed_output_is_not_the_end),
        PROCESS_TEST(test_killed_guard),
        PROCESS_TEST(test_stopped_guard_can_be_ended),
        PROCESS_TEST(test_guard_does_not_look_like_the_command),
        PROCESS_TEST(test_long_commands),
        PROCESS_TEST(test_ignored_sigchld),
        PROCESS_TEST(test_foreign_children_are_left_alone),
        PROCESS_TEST(test_file_limit_is_restored),
        PROCESS_TEST(test_kill_of_the_agent_leaves_nothing),
        PROCESS_TEST(test_feed_is_called_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
