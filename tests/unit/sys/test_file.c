#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "scratch.h"
#include "sys/file.h"

static char *dir;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static void refused(const char *path, enum pi_status status, const char *word)
{
    struct pi_error err = {0};
    int fd = -1;
    assert_int_equal(file_open_regular(&fd, path, NULL, &err), status);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.message, word));
    assert_non_null(strstr(err.message, path));
}

static void test_only_regular_files(void **state)
{
    (void)state;
    const char *fifo = scratch_path(dir, "fifo");
    scratch_check(mkfifo(fifo, 0600) == 0, fifo);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s/sock", dir);
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    scratch_check(bind(sock, (struct sockaddr *)&at, sizeof at) == 0, at.sun_path);
    refused(fifo, PI_INVALID, "FIFO");
    refused(at.sun_path, PI_INVALID, "socket");
    refused(dir, PI_INVALID, "directory");
    refused("/dev/zero", PI_INVALID, "character device");
    refused(scratch_path(dir, "none"), PI_NOT_FOUND, "cannot open");
    close(sock);
}

static void test_open(void **state)
{
    (void)state;
    scratch_text(dir, "f", "hello");
    struct stat st;
    int fd = -1;
    assert_int_equal(file_open_regular(&fd, scratch_path(dir, "f"), &st, NULL), PI_OK);
    assert_int_equal(st.st_size, 5);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    char bytes[8] = {0};
    size_t got = 0;
    assert_int_equal(file_read(fd, bytes, sizeof bytes, &got, NULL), PI_OK);
    assert_int_equal(got, 5);
    assert_string_equal(bytes, "hello");
    assert_int_equal(file_pread(fd, bytes, 2, 3, &got, NULL), PI_OK);
    assert_int_equal(got, 2);
    assert_memory_equal(bytes, "lo", 2);
    file_close(&fd);
    assert_int_equal(fd, -1);
    file_close(&fd);
}

static void test_load(void **state)
{
    (void)state;
    struct buf b = {0};
    scratch_text(dir, "f", "hello");
    buf_adds(&b, "x");
    assert_int_equal(file_load(&b, scratch_path(dir, "f"), 5, NULL), PI_OK);
    assert_string_equal(buf_cstr(&b), "xhello");
    assert_int_equal(file_load(&b, scratch_path(dir, "f"), 4, NULL), PI_LIMIT);
    assert_string_equal(buf_cstr(&b), "xhello");
    buf_clear(&b);
    // Says that it has no size.
    assert_int_equal(file_load(&b, "/proc/self/status", 1 << 20, NULL), PI_OK);
    assert_non_null(strstr(buf_cstr(&b), "VmSize"));
    buf_finish(&b);
}

static void test_load_large(void **state)
{
    (void)state;
    size_t n = 300 * 1024 + 7;
    char *bytes = malloc(n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(i * 31);
    }
    scratch_write(dir, "f", bytes, n);
    struct buf b = {0};
    assert_int_equal(file_load(&b, scratch_path(dir, "f"), n, NULL), PI_OK);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.data, bytes, n);
    buf_finish(&b);
    free(bytes);
}

static void test_make_dirs(void **state)
{
    (void)state;
    struct pi_error err = {0};
    struct stat st;
    const char *deep = scratch_path(dir, "a/b//c/");
    assert_int_equal(file_make_dirs(deep, 0777, NULL), PI_OK);
    assert_int_equal(stat(scratch_path(dir, "a/b/c"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(file_make_dirs(deep, 0777, NULL), PI_OK);
    assert_int_equal(file_make_dirs("/", 0777, NULL), PI_OK);
    scratch_text(dir, "f", "");
    assert_int_equal(file_make_dirs(scratch_path(dir, "f/x/y"), 0777, &err), PI_INVALID);
    assert_non_null(strstr(err.message, scratch_path(dir, "f")));
    assert_non_null(strstr(err.message, "not a directory"));
    assert_int_equal(file_make_dirs(scratch_path(dir, "f"), 0777, &err), PI_INVALID);
}

static void test_sync(void **state)
{
    (void)state;
    assert_int_equal(file_sync_dir(dir, NULL), PI_OK);
    assert_int_equal(file_sync_dir(scratch_path(dir, "none"), NULL), PI_NOT_FOUND);
}

static void test_stamp(void **state)
{
    (void)state;
    struct stat st;
    scratch_text(dir, "f", "one");
    assert_int_equal(stat(scratch_path(dir, "f"), &st), 0);
    struct file_stamp a = file_stamp_of(&st), b = a;
    assert_true(file_stamp_eq(&a, &b));
    b.mtime_ns++;
    assert_false(file_stamp_eq(&a, &b));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_only_regular_files),
        TEST(test_open),
        TEST(test_load),
        TEST(test_load_large),
        TEST(test_make_dirs),
        TEST(test_sync),
        TEST(test_stamp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
