#include "process_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
    struct stat st = {0};
    for (int i = 0; i < 500 && (size_t)st.st_size <= f->output.len + 30; i++) {
        usleep(10 * 1000); // six ticks more; a busy machine takes its time
        assert_int_equal(stat(log, &st), 0);
    }
    assert_true((size_t)st.st_size > f->output.len + 30);
    assert_true(alive(bg));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(test_background_without_jobs_is_ended),
        PROCESS_TEST(test_background_lives_until_the_jobs_end),
        PROCESS_TEST(test_quiet_background),
        PROCESS_TEST(test_no_jobs_after_the_end),
        PROCESS_TEST(test_ended_jobs_are_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
