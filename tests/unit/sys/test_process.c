#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/process.h"

/** A run with its output. */
struct fixture {
    char dir[64];
    struct env env;
    struct process_request request;
    struct buf output;
    struct process_result result;
    struct pi_error err;
    struct cancel *cancel;
    const char *log_path; // written by handover
    int again;            // what feed returns
    int empty_calls;
    int64_t ms;
};

static int feed(void *data, struct sv bytes)
{
    struct fixture *f = data;
    f->empty_calls += bytes.n == 0;
    buf_addsv(&f->output, bytes);
    return f->again;
}

static void handover(void *data)
{
    struct fixture *f = data;
    FILE *log = f->log_path ? fopen(f->log_path, "w") : NULL;
    if (log) {
        fwrite(f->output.data, 1, f->output.len, log);
        fclose(log);
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/pi-test-process-XXXXXX");
    if (!f || !mkdtemp(f->dir) || env_copy(&f->env, NULL, NULL) != PI_OK) {
        return -1;
    }
    f->again = -1;
    f->request = (struct process_request){
        .guard_path = getenv("PI_GUARD"),
        .shell = "/bin/bash",
        .cwd = f->dir,
        .environment = &f->env,
    };
    *state = f;
    return cancel_create(&f->cancel, NULL, NULL) == PI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    int rc = system(command);
    env_finish(&f->env);
    buf_finish(&f->output);
    cancel_unref(f->cancel);
    free(f);
    return rc;
}

static enum pi_status run(struct fixture *f, const char *command)
{
    const struct process_sink sink = {.feed = feed, .handover = handover, .data = f};
    f->request.command = command;
    buf_clear(&f->output);
    int64_t start = clock_mono_ms();
    enum pi_status status =
        process_run(&f->request, &sink, f->cancel, &f->result, &f->err);
    f->ms = clock_mono_ms() - start;
    return status;
}

/** Runs and expects this end. */
static void expect(struct fixture *f, const char *command, enum process_end end, int code)
{
    enum pi_status status = run(f, command);
    if (status != PI_OK) {
        fail_msg("%s: %s", command, f->err.message);
    }
    assert_int_equal(f->result.end, end);
    assert_int_equal(f->result.code, code);
}

static const char *text(const struct fixture *f)
{
    return buf_cstr(&f->output);
}

static bool alive(pid_t pid)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    const char *paren = n > 0 ? strrchr(line, ')') : NULL;
    return paren && paren[2] != 'Z' && paren[2] != 'X';
}

static bool dies(pid_t pid, int wait_ms)
{
    int64_t until = clock_mono_ms() + wait_ms;
    while (alive(pid) && clock_mono_ms() < until) {
        usleep(5000);
    }
    return !alive(pid);
}

/** The number that a command left in a file of the fixture. */
static pid_t pid_in(const struct fixture *f, const char *name)
{
    char path[128];
    int pid = 0;
    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    for (int i = 0; i < 400 && pid == 0; i++) {
        FILE *file = fopen(path, "r");
        if (file) {
            char line[32] = "";
            pid = fgets(line, sizeof line, file) ? (int)strtol(line, NULL, 10) : 0;
            fclose(file);
        }
        if (pid == 0) {
            usleep(5000);
        }
    }
    assert_true(pid > 0);
    return pid;
}

static int open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

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

static void test_background_without_jobs_is_ended(void **state)
{
    struct fixture *f = *state;
    expect(f, "sleep 40 & echo $! > bg; echo done", PROCESS_EXITED, 0);
    assert_string_equal(text(f), "done\n");
    assert_in_range(f->ms, 90, 900);
    assert_int_equal(f->result.left, 0);
    assert_false(alive(pid_in(f, "bg")));
}

static void test_background_lives_until_the_jobs_end(void **state)
{
    struct fixture *f = *state;
    char log[128];
    struct buf content = {0};
    int before = open_files();
    snprintf(log, sizeof log, "%s/log", f->dir);
    f->log_path = f->request.log_path = log;
    assert_int_equal(process_jobs_create(&f->request.jobs, &f->err), PI_OK);
    expect(f,
           "(while :; do echo tick; sleep 0.02; done) & echo $! > bg; sleep 0.1; exit 7",
           PROCESS_EXITED, 7);
    assert_in_range(f->ms, 190, 900);
    pid_t bg = pid_in(f, "bg");
    char name[32];
    snprintf(name, sizeof name, "%d bash", (int)bg);
    assert_true(f->result.left >= 1);
    assert_true(f->result.left_may_write);
    assert_non_null(strstr(f->result.left_names, name));
    usleep(300 * 1000);
    assert_true(alive(bg));
    struct stat st;
    assert_int_equal(stat(log, &st), 0);
    assert_true((size_t)st.st_size > f->output.len + 30);
    process_jobs_destroy(f->request.jobs);
    assert_false(alive(bg));
    assert_int_equal(open_files(), before);
    buf_finish(&content);
}

static void test_quiet_background(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(process_jobs_create(&f->request.jobs, &f->err), PI_OK);
    expect(f, "sleep 40 > /dev/null 2>&1 & echo $! > bg", PROCESS_EXITED, 0);
    assert_true(f->ms < 900);
    assert_int_equal(f->result.left, 1);
    assert_false(f->result.left_may_write);
    expect(f, "true", PROCESS_EXITED, 0);
    assert_int_equal(f->result.left, 0);
    assert_true(alive(pid_in(f, "bg")));
    process_jobs_destroy(f->request.jobs);
    assert_false(alive(pid_in(f, "bg")));
}

static void test_no_jobs_after_the_end(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(process_jobs_create(&f->request.jobs, &f->err), PI_OK);
    process_jobs_end(f->request.jobs);
    expect(f, "sleep 40 > /dev/null 2>&1 & echo $! > bg", PROCESS_EXITED, 0);
    assert_int_equal(f->result.left, 0);
    assert_false(alive(pid_in(f, "bg")));
    process_jobs_destroy(f->request.jobs);
    process_jobs_end(NULL);
    process_jobs_destroy(NULL);
}

static void test_ended_jobs_are_let_go(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(process_jobs_create(&f->request.jobs, &f->err), PI_OK);
    expect(f, "sleep 0.2 > /dev/null 2>&1 &", PROCESS_EXITED, 0);
    int with_one = open_files();
    siginfo_t info;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    expect(f, "sleep 40 > /dev/null 2>&1 &", PROCESS_EXITED, 0);
    assert_int_equal(open_files(), with_one);
    process_jobs_destroy(f->request.jobs);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_output_and_code),
        TEST(test_signals_are_told),
        TEST(test_clean_start),
        TEST(test_environment_is_the_given_one),
        TEST(test_what_cannot_start),
        TEST(test_timeout_keeps_output),
        TEST(test_timeout_ends_those_that_ignore_term_and_left_the_session),
        TEST(test_timeout_ends_a_crowd_that_goes_on_forking),
        TEST(test_no_descriptors_left),
        TEST(test_abort),
        TEST(test_abort_becomes_urgent),
        TEST(test_abort_of_a_flood),
        TEST(test_stopped_shell_can_be_ended),
        TEST(test_closed_output_is_not_the_end),
        TEST(test_background_without_jobs_is_ended),
        TEST(test_background_lives_until_the_jobs_end),
        TEST(test_quiet_background),
        TEST(test_no_jobs_after_the_end),
        TEST(test_ended_jobs_are_let_go),
        TEST(test_killed_guard),
        TEST(test_stopped_guard_can_be_ended),
        TEST(test_guard_does_not_look_like_the_command),
        TEST(test_long_commands),
        TEST(test_ignored_sigchld),
        TEST(test_foreign_children_are_left_alone),
        TEST(test_file_limit_is_restored),
        TEST(test_kill_of_the_agent_leaves_nothing),
        TEST(test_feed_is_called_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
