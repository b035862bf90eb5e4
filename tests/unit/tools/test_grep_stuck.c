#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "sys/clock.h"
#include "tool_fixture.h"
#include "tools.h"

// wrap: read pthread_mutex_timedlock

// grep beside another one whose file system does not answer: read() sleeps. Time that is
// waited for a lock passes quickly.

ssize_t __real_read(int fd, void *bytes, size_t n);
ssize_t __wrap_read(int fd, void *bytes, size_t n);

int __real_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);

int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    (void)until;
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += soon.tv_nsec >= 999000000;
    soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
    return __real_pthread_mutex_timedlock(mutex, &soon);
}

static atomic_ullong stuck; // the inode that does not answer, 0 = none
static atomic_bool waits;

ssize_t __wrap_read(int fd, void *bytes, size_t n)
{
    struct stat st;
    unsigned long long inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
    while (inode != 0 && inode == atomic_load(&stuck)) {
        atomic_store(&waits, true);
        poll(NULL, 0, 1);
    }
    return __real_read(fd, bytes, n);
}

static void put_large(struct tool_fixture *f)
{
    struct buf text = {0};
    buf_adds(&text, "needle\n");
    for (int i = 0; i < 100000; i++) {
        buf_adds(&text, "hay\n");
    }
    fixture_put(f, "large", buf_sv(&text));
    buf_finish(&text);
}

static void *search(void *fixture)
{
    (void)fixture_call(fixture, &tool_grep, "{\"pattern\":\"needle\"}");
    return NULL;
}

static bool is_over_within(pthread_t thread, int64_t ms)
{
    int64_t end = clock_mono_ms() + ms;
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        if (clock_mono_ms() > end) {
            return false;
        }
        poll(NULL, 0, 1);
    }
    return true;
}

static void test_another_search_goes_on(void **state)
{
    (void)state;
    void *gone_state, *here_state;
    fixture_setup(&gone_state);
    fixture_setup(&here_state);
    struct tool_fixture *gone = gone_state, *here = here_state;
    put_large(gone);
    put_large(here);
    char *path = fixture_path(gone, "large");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    free(path);

    pthread_t first, second;
    atomic_store(&stuck, st.st_ino);
    assert_int_equal(pthread_create(&first, NULL, search, gone), 0);
    while (!atomic_load(&waits)) {
        poll(NULL, 0, 1);
    }
    assert_int_equal(pthread_create(&second, NULL, search, here), 0);
    bool went_on = is_over_within(second, 20000);
    atomic_store(&stuck, 0);
    assert_true(went_on || is_over_within(second, 20000));
    assert_true(is_over_within(first, 20000));
    assert_true(went_on);
    assert_contains(here, "large:1: needle");
    assert_contains(gone, "large:1: needle");
    fixture_teardown(&gone_state);
    fixture_teardown(&here_state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_search_goes_on),
    };
    return cmocka_run_group_tests_name("tools/grep_stuck", tests, NULL, NULL);
}
