#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "session/journal.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct journal *create(const char *name)
{
    struct journal *j = NULL;
    struct pi_error err = {0};
    if (journal_create(&j, scratch_path(dir, name), &err) != PI_OK) {
        fail_msg("%s", err.message);
    }
    return j;
}

static struct journal *reopen(const char *name, struct journal_owner *owner)
{
    struct journal *j = NULL;
    struct pi_error err = {0};
    struct journal_owner ignored;
    if (journal_open(&j, owner ? owner : &ignored, scratch_path(dir, name), &err) !=
        PI_OK) {
        fail_msg("%s", err.message);
    }
    return j;
}

static void append(struct journal *j, const char *record)
{
    struct pi_error err = {0};
    if (journal_append(j, sv_of(record), NULL, &err) != PI_OK) {
        fail_msg("%s", err.message);
    }
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(scratch_path(dir, name), &st), 0);
    return st.st_mode & 07777;
}

static void test_create_is_private(void **state)
{
    (void)state;
    struct journal *j = create("a/b/file");
    assert_int_equal(mode_of("a"), 0700);
    assert_int_equal(mode_of("a/b"), 0700);
    assert_int_equal(mode_of("a/b/file"), 0600);
    append(j, "one\n");
    assert_int_equal(journal_sync(j, NULL), PI_OK);
    append(j, "two\n");
    journal_close(j);
    assert_true(scratch_holds(dir, "a/b/file", "one\ntwo\n"));
}

static void test_create_takes_nothing_over(void **state)
{
    (void)state;
    struct journal *j = NULL;
    struct pi_error err = {0};
    scratch_text(dir, "file", "precious");
    assert_int_equal(symlink("nowhere", scratch_path(dir, "link")), 0);
    assert_int_equal(journal_create(&j, scratch_path(dir, "file"), &err), PI_IO);
    assert_int_equal(journal_create(&j, scratch_path(dir, "link"), &err), PI_IO);
    assert_int_equal(journal_create(&j, scratch_path(dir, "file/x"), &err), PI_INVALID);
    assert_true(scratch_holds(dir, "file", "precious"));
    assert_int_equal(access(scratch_path(dir, "nowhere"), F_OK), -1);
}

static void test_unused_file_is_removed(void **state)
{
    (void)state;
    journal_close(create("file"));
    assert_int_equal(access(scratch_path(dir, "file"), F_OK), -1);
    journal_close(NULL);
}

static void test_torn_end_is_healed(void **state)
{
    (void)state;
    scratch_text(dir, "file", "one\ntw");
    struct journal *j = reopen("file", NULL);
    append(j, "three\n");
    append(j, "four\n");
    assert_int_equal(journal_size(j), strlen("one\ntw\nthree\nfour\n"));
    journal_close(j);
    assert_true(scratch_holds(dir, "file", "one\ntw\nthree\nfour\n"));
}

static void test_others_who_append_are_noticed(void **state)
{
    (void)state;
    struct journal *j = create("file");
    append(j, "one\n");
    FILE *f = fopen(scratch_path(dir, "file"), "a");
    fputs("torn", f);
    fclose(f);
    append(j, "two\n");
    journal_close(j);
    assert_true(scratch_holds(dir, "file", "one\ntorn\ntwo\n"));
}

static void test_deleted_file_is_told(void **state)
{
    (void)state;
    struct pi_error err = {0};
    struct journal *j = create("file");
    append(j, "one\n");
    unlink(scratch_path(dir, "file"));
    assert_int_equal(journal_append(j, sv_of("two\n"), NULL, &err), PI_NOT_FOUND);
    assert_non_null(strstr(err.message, "deleted"));
    journal_close(j);
}

static void test_second_opener_reads_only(void **state)
{
    (void)state;
    struct journal_owner owner;
    struct pi_error err = {0};
    struct journal *first = create("file");
    append(first, "one\n");
    struct journal *second = reopen("file", &owner);
    assert_true(owner.other);
    assert_int_equal(owner.pid, getpid());
    assert_non_null(journal_read_only(second));
    assert_int_equal(journal_append(second, sv_of("x\n"), NULL, &err), PI_DENIED);
    struct buf line = {0};
    assert_int_equal(journal_read(second, 0, &line, NULL), PI_OK);
    assert_string_equal(buf_cstr(&line), "one");
    buf_finish(&line);
    journal_close(second);
    append(first, "two\n");
    journal_close(first);
    second = reopen("file", &owner);
    assert_false(owner.other);
    assert_null(journal_read_only(second));
    journal_close(second);
    assert_true(scratch_holds(dir, "file", "one\ntwo\n"));
}

static void test_lock_of_another_process(void **state)
{
    (void)state;
    int ready[2];
    scratch_text(dir, "file", "one\n");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct journal *j = reopen("file", NULL);
        (void)!write(ready[1], j ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    char c;
    assert_int_equal(read(ready[0], &c, 1), 1);
    struct journal_owner owner;
    struct journal *j = reopen("file", &owner);
    assert_true(owner.other);
    assert_int_equal(owner.pid, child);
    journal_close(j);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    j = reopen("file", &owner);
    assert_false(owner.other);
    append(j, "two\n");
    journal_close(j);
    close(ready[0]);
    close(ready[1]);
}

static void test_only_readable(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip();
    }
    struct journal_owner owner;
    scratch_text(dir, "file", "one\n");
    chmod(scratch_path(dir, "file"), 0400);
    struct journal *j = reopen("file", &owner);
    assert_false(owner.other);
    assert_non_null(strstr(journal_read_only(j), "permission"));
    journal_close(j);
    chmod(scratch_path(dir, "file"), 0);
    assert_int_equal(journal_open(&j, &owner, scratch_path(dir, "file"), NULL),
                     PI_DENIED);
}

static void test_only_regular_files(void **state)
{
    (void)state;
    struct journal *j = NULL;
    struct journal_owner owner;
    assert_int_equal(mkfifo(scratch_path(dir, "fifo"), 0600), 0);
    assert_int_equal(journal_open(&j, &owner, scratch_path(dir, "fifo"), NULL),
                     PI_INVALID);
    assert_int_equal(journal_open(&j, &owner, dir, NULL), PI_INVALID);
    assert_int_equal(journal_open(&j, &owner, scratch_path(dir, "none"), NULL),
                     PI_NOT_FOUND);
}

/* -- lines -- */

struct seen {
    const char *text; // of the whole file
    uint64_t offset;  // where the next line must begin
    size_t lines, stop_after;
    struct journal *journal;
};

static bool see(void *data, const struct journal_line *line)
{
    struct seen *s = data;
    assert_int_equal(line->offset, s->offset);
    assert_int_equal(line->number, ++s->lines);
    assert_true(line->head.n == line->length ||
                (line->head.n >= JOURNAL_HEAD_BYTES && line->head.n < line->length));
    assert_memory_equal(line->head.p, s->text + line->offset, line->head.n);
    const char *end = s->text + line->offset + line->length;
    assert_int_equal(line->last, line->length > 0 ? end[-1] : 0);
    assert_int_equal(*end, line->whole ? '\n' : '\0');
    assert_null(memchr(s->text + line->offset, '\n', line->length));
    struct buf text = {0};
    assert_int_equal(journal_read(s->journal, line->offset, &text, NULL), PI_OK);
    assert_int_equal(text.len, line->length);
    assert_memory_equal(buf_cstr(&text), s->text + line->offset, text.len);
    buf_finish(&text);
    s->offset += line->length + 1;
    return s->lines != s->stop_after;
}

static size_t scan(const char *text, size_t n, size_t stop_after)
{
    scratch_write(dir, "file", text, n);
    struct seen s = {.text = text, .stop_after = stop_after};
    s.journal = reopen("file", NULL);
    assert_int_equal(journal_scan(s.journal, see, &s, NULL), PI_OK);
    journal_close(s.journal);
    if (!stop_after) {
        assert_true(s.offset == n || s.offset == n + 1);
    }
    return s.lines;
}

static void test_scan(void **state)
{
    (void)state;
    assert_int_equal(scan("", 0, 0), 0);
    assert_int_equal(scan("\n", 1, 0), 1);
    assert_int_equal(scan("a", 1, 0), 1);
    assert_int_equal(scan("a\n\nbc\nd", 7, 0), 4);
    assert_int_equal(scan("a\n\nbc\nd", 7, 2), 2);
    assert_int_equal(scan("a\0b\n\0\n", 6, 0), 2);
}

// Lines that end just before, at and behind every border of the blocks.
static void test_scan_of_long_lines(void **state)
{
    (void)state;
    enum { BLOCK = 4 * JOURNAL_HEAD_BYTES };
    const size_t lengths[] = {1,
                              100,
                              BLOCK - 2,
                              BLOCK - 1,
                              BLOCK,
                              BLOCK + 1,
                              2 * BLOCK - 1,
                              5 * BLOCK + 7,
                              3 * JOURNAL_HEAD_BYTES,
                              BLOCK + 3 * JOURNAL_HEAD_BYTES,
                              BLOCK + 3 * JOURNAL_HEAD_BYTES - 1};
    size_t count = sizeof lengths / sizeof lengths[0];
    for (size_t first = 0; first < count; first++) {
        for (size_t second = 0; second < count; second++) {
            struct buf text = {0};
            buf_reserve(&text, lengths[first] + lengths[second] + 100);
            memset(text.data, 'x', lengths[first] + lengths[second] + 3);
            text.data[lengths[first]] = '\n';
            text.data[lengths[first] + 1 + lengths[second]] = '\n';
            text.len = lengths[first] + lengths[second] + 3;
            text.data[text.len] = '\0';
            assert_int_equal(scan(text.data, text.len, 0), 3);
            text.data[--text.len] = '\0';
            assert_int_equal(scan(text.data, text.len, 0), 2);
            text.data[--text.len] = '\0';
            assert_int_equal(scan(text.data, text.len, 0), 2);
            buf_finish(&text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_create_is_private),
        TEST(test_create_takes_nothing_over),
        TEST(test_unused_file_is_removed),
        TEST(test_torn_end_is_healed),
        TEST(test_others_who_append_are_noticed),
        TEST(test_deleted_file_is_told),
        TEST(test_second_opener_reads_only),
        TEST(test_lock_of_another_process),
        TEST(test_only_readable),
        TEST(test_only_regular_files),
        TEST(test_scan),
        TEST(test_scan_of_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
