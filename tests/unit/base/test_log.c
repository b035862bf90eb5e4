#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"

static char path[] = "/tmp/pi-test-log-XXXXXX";

static struct log *open_empty(void)
{
    struct log *l = NULL;
    unlink(path);
    assert_int_equal(log_open(&l, path, NULL), PI_OK);
    return l;
}

static void read_all(struct buf *out)
{
    char piece[4096];
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;) {
        buf_add(out, piece, (size_t)n);
    }
    close(fd);
}

// The text of the log's only line after time and thread.
static void check_text(const char *want)
{
    struct buf b = {0};
    read_all(&b);
    char *text = strstr(buf_cstr(&b), "] ");
    assert_non_null(text);
    assert_string_equal(text + 2, want);
    buf_finish(&b);
}

static void test_line(void **state)
{
    (void)state;
    struct log *l = open_empty();
    log_line(l, "call %s has %d bytes", "bash", 7);
    log_close(l);
    check_text("call bash has 7 bytes\n");
    struct buf b = {0};
    int y, mo, d, h, mi, s, ms;
    long thread;
    read_all(&b);
    assert_int_equal(sscanf(buf_cstr(&b), "%d-%d-%dT%d:%d:%d.%dZ [%ld] ", &y, &mo, &d, &h,
                            &mi, &s, &ms, &thread),
                     8);
    assert_int_equal(thread, (long)gettid());
    buf_finish(&b);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_appends(void **state)
{
    (void)state;
    struct buf b = {0};
    struct log *l = open_empty();
    log_line(l, "first");
    log_close(l);
    assert_int_equal(log_open(&l, path, NULL), PI_OK);
    log_line(l, "second");
    log_close(l);
    read_all(&b);
    assert_true(strstr(buf_cstr(&b), "first\n") < strstr(buf_cstr(&b), "second\n"));
    assert_non_null(strstr(buf_cstr(&b), "first\n"));
    buf_finish(&b);
}

static void test_line_breaks_are_escaped(void **state)
{
    (void)state;
    struct log *l = open_empty();
    log_line(l, "a\nb\r\x1b[1m\tc\xc3\xa9");
    log_close(l);
    check_text("a\\nb\\x0d\\x1b[1m\\x09c\xc3\xa9\n");
}

static void test_secrets_are_redacted(void **state)
{
    (void)state;
    struct log *l = open_empty();
    char secret[] = "key-12345678";
    log_redact(l, secret);
    memset(secret, 'x', strlen(secret)); // the log has a copy
    log_redact(l, "key-12345678-longer");
    log_redact(l, "multi\nline-secret");
    log_redact(l, "short");
    log_redact(l, NULL);
    log_redact(NULL, "something long");
    log_line(l, "%skey-12345678key-12345678-longer, short, multi\nline-secret.", "");
    log_close(l);
    check_text("[redacted][redacted], short, [redacted].\n");
}

static void test_long_line_is_one_write(void **state)
{
    (void)state;
    struct log *l = open_empty();
    char *text = malloc(200001);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    log_line(l, "%s", text);
    log_close(l);
    struct buf b = {0};
    read_all(&b);
    assert_true(b.len > 200000);
    assert_ptr_equal(memchr(b.data, '\n', b.len), b.data + b.len - 1);
    buf_finish(&b);
    free(text);
}

static void *write_lines(void *data)
{
    for (int i = 0; i < 500; i++) {
        log_line(data, "start %s end", "secret-of-the-user");
        log_redact(data, i % 2 ? "secret-of-the-user" : "another-secret");
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { N = 4 };
    struct log *l = open_empty();
    pthread_t threads[N];
    log_redact(l, "secret-of-the-user");
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, l), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
    }
    log_close(l);
    struct buf b = {0};
    read_all(&b);
    struct sv rest = buf_sv(&b), line;
    size_t count = 0;
    for (; sv_next_line(&rest, &line); count++) {
        assert_true(sv_ends(line, sv_of("] start [redacted] end")));
    }
    assert_int_equal(count, N * 500);
    buf_finish(&b);
}

static void test_off_and_errors(void **state)
{
    (void)state;
    struct log *l = NULL;
    struct pi_error err = {0};
    log_line(NULL, "nothing");
    log_close(NULL);
    assert_int_equal(log_open(&l, "/nonexistent/log", &err), PI_NOT_FOUND);
    assert_null(l);
    assert_string_equal(err.message, "Cannot open the log file /nonexistent/log: "
                                     "No such file or directory");
}

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_line_breaks_are_escaped),
        cmocka_unit_test(test_secrets_are_redacted),
        cmocka_unit_test(test_long_line_is_one_write),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_off_and_errors),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
