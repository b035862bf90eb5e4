// What a session is left with when a system call or an allocation fails: nothing of the
// entry that could not be written, and everything as soon as it can be.
//
// wrap: write ftruncate fsync fstat flock malloc calloc realloc strdup

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "oom.h"
#include "scratch.h"
#include "session/list.h"
#include "session/session.h"

/* -- faults -- */

static struct {
    size_t room;      // bytes that can still be written; then errnum
    int write_errnum; // 0 = no fault
    size_t piece;     // the most that one write takes; 0 = all
    int interrupts;   // so many writes are interrupted before anything is written
    int truncate_errnum, sync_errnum, stat_errnum, lock_errnum;
    int writes, syncs;
} fault;

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    fault.writes++;
    if (fault.interrupts > 0) {
        fault.interrupts--;
        errno = EINTR;
        return -1;
    }
    if (fault.piece && n > fault.piece) {
        n = fault.piece;
    }
    if (fault.write_errnum && n > fault.room) {
        n = fault.room;
        if (n == 0) {
            errno = fault.write_errnum;
            return -1;
        }
    }
    fault.room -= fault.write_errnum ? n : 0;
    return __real_write(fd, bytes, n);
}

#define WRAP(name, params, args, errnum)                                                 \
    int __real_##name params;                                                            \
    int __wrap_##name params;                                                            \
    int __wrap_##name params                                                             \
    {                                                                                    \
        if (errnum) {                                                                    \
            errno = errnum;                                                              \
            return -1;                                                                   \
        }                                                                                \
        return __real_##name args;                                                       \
    }
WRAP(ftruncate, (int fd, off_t n), (fd, n), fault.truncate_errnum)
WRAP(fstat, (int fd, struct stat *st), (fd, st), fault.stat_errnum)
WRAP(flock, (int fd, int operation), (fd, operation), fault.lock_errnum)

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    fault.syncs++;
    if (fault.sync_errnum) {
        errno = fault.sync_errnum;
        return -1;
    }
    return __real_fsync(fd);
}

/* -- a session -- */

static char *dir;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    memset(&fault, 0, sizeof fault);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    scratch_remove(dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct session *create(void)
{
    struct session *s = NULL;
    struct session_options options = {
        .cwd = "/work", .id = "0198", .path = scratch_path(dir, "s.jsonl")};
    assert_int_equal(session_create(&s, &options, NULL), PI_OK);
    return s;
}

static struct message *message(const char *text)
{
    struct message *m = message_create(ROLE_USER);
    assert_true(content_add_text(&m->content, sv_of(text)));
    return m;
}

static enum pi_status add(struct session *s, const char *text, struct pi_error *err)
{
    struct message *m = message(text);
    enum pi_status status = session_add_message(s, m, err);
    message_destroy(m);
    return status;
}

// The file holds these prompts, one entry after the other, and nothing else but what is
// told in problems.
static void expect(const char *texts, bool damaged)
{
    struct session *s = NULL;
    struct journal_owner owner;
    struct buf problems = {0}, all = {0};
    struct session_messages messages = {0};
    struct pi_error err = {0};
    if (session_open(&s, scratch_path(dir, "s.jsonl"), &problems, &owner, &err)) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(session_messages(s, &messages, &problems, &err), PI_OK);
    for (size_t i = 0; i < messages.len; i++) {
        content_text(&messages.items[i]->content, &all);
        buf_addc(&all, ' ');
        message_destroy(messages.items[i]);
    }
    free(messages.items);
    assert_string_equal(buf_cstr(&all), texts);
    assert_int_equal(problems.len > 0, damaged);
    buf_finish(&all);
    buf_finish(&problems);
    session_close(s);
}

static size_t file_size(void)
{
    struct stat st;
    return stat(scratch_path(dir, "s.jsonl"), &st) == 0 ? (size_t)st.st_size : 0;
}

/* -- tests -- */

// The disk is full after every possible number of bytes; then there is room again.
static void test_full_disk(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t room = 0; failed; room += 7) {
        struct session *s = create();
        struct pi_error err = {0};
        assert_int_equal(add(s, "one", &err), PI_OK);
        size_t before = file_size();
        fault.room = room;
        fault.write_errnum = room % 2 ? ENOSPC : EIO;
        failed = add(s, "two", &err) != PI_OK;
        if (failed) {
            assert_int_equal(file_size(), before);
            assert_int_equal(err.code, PI_IO);
            assert_int_equal(add(s, "two", &err), fault.room < 7 ? PI_IO : err.code);
        }
        fault.write_errnum = 0;
        if (failed) {
            assert_int_equal(add(s, "two", &err), PI_OK);
        }
        assert_int_equal(add(s, "three", &err), PI_OK);
        session_close(s);
        expect("one two three ", false);
        unlink(scratch_path(dir, "s.jsonl"));
    }
}

// From the start: header and first entry, too.
static void test_full_disk_at_the_start(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t room = 0; failed; room += 7) {
        struct session *s = create();
        struct pi_error err = {0};
        fault.room = room;
        fault.write_errnum = ENOSPC;
        failed = add(s, "one", &err) != PI_OK;
        fault.write_errnum = 0;
        if (failed) {
            assert_int_equal(add(s, "one", &err), PI_OK);
        }
        session_close(s);
        expect("one ", false);
        unlink(scratch_path(dir, "s.jsonl"));
    }
    // Nothing is left of a session that could never be written.
    struct session *s = create();
    fault.write_errnum = ENOSPC;
    fault.room = 20;
    assert_int_equal(add(s, "one", NULL), PI_IO);
    session_close(s);
    assert_int_equal(access(scratch_path(dir, "s.jsonl"), F_OK), -1);
}

// What cannot be taken back stands on a line of its own and is told.
static void test_part_that_stays(void **state)
{
    (void)state;
    struct session *s = create();
    assert_int_equal(add(s, "one", NULL), PI_OK);
    fault.room = 30;
    fault.write_errnum = ENOSPC;
    fault.truncate_errnum = EIO;
    assert_int_equal(add(s, "two", NULL), PI_IO);
    fault.write_errnum = 0;
    assert_int_equal(add(s, "two", NULL), PI_OK);
    session_close(s);
    expect("one two ", true);
}

static void test_short_and_interrupted_writes(void **state)
{
    (void)state;
    struct session *s = create();
    fault.piece = 10;
    assert_int_equal(add(s, "one", NULL), PI_OK);
    fault.piece = 0;
    fault.interrupts = 3;
    assert_int_equal(add(s, "two", NULL), PI_OK);
    session_close(s);
    expect("one two ", false);
}

static void test_one_write_for_each_entry(void **state)
{
    (void)state;
    char *large = malloc(2000001);
    memset(large, 'x', 2000000);
    large[2000000] = '\0';
    struct session *s = create();
    assert_int_equal(add(s, "one", NULL), PI_OK);
    fault.writes = 0;
    assert_int_equal(add(s, large, NULL), PI_OK);
    assert_int_equal(fault.writes, 1);
    session_close(s);
    free(large);
}

static void test_sync(void **state)
{
    (void)state;
    struct session *s = create();
    struct pi_error err = {0};
    assert_int_equal(session_sync(s, &err), PI_OK);
    assert_int_equal(fault.syncs, 0);
    assert_int_equal(add(s, "one", NULL), PI_OK);
    fault.sync_errnum = EIO;
    assert_int_equal(session_sync(s, &err), PI_IO);
    fault.sync_errnum = 0;
    fault.syncs = 0;
    // The file and the folder with its name; then the file only, and only when changed.
    assert_int_equal(session_sync(s, &err), PI_OK);
    assert_int_equal(fault.syncs, 2);
    assert_int_equal(session_sync(s, &err), PI_OK);
    assert_int_equal(fault.syncs, 2);
    assert_int_equal(add(s, "two", NULL), PI_OK);
    assert_int_equal(session_sync(s, &err), PI_OK);
    assert_int_equal(fault.syncs, 3);
    fault.stat_errnum = EIO;
    assert_int_equal(add(s, "three", NULL), PI_IO);
    fault.stat_errnum = 0;
    session_close(s);
    expect("one two ", false);
}

// Where the file system knows no locks, sessions are written without.
static void test_no_locks(void **state)
{
    (void)state;
    fault.lock_errnum = ENOLCK;
    struct session *s = create();
    assert_int_equal(add(s, "one", NULL), PI_OK);
    session_close(s);
    expect("one ", false);
    fault.lock_errnum = EWOULDBLOCK;
    s = create();
    session_close(s);
    struct journal_owner owner;
    struct buf problems = {0};
    assert_int_equal(
        session_open(&s, scratch_path(dir, "s.jsonl"), &problems, &owner, NULL), PI_OK);
    assert_true(owner.other);
    assert_int_equal(owner.pid, 0);
    assert_int_equal(add(s, "two", NULL), PI_DENIED);
    session_close(s);
    fault.lock_errnum = 0;
    expect("one ", false);
}

/* -- without memory -- */

static void test_adding_without_memory(void **state)
{
    (void)state;
    bool failed = true;
    struct message *m = message("two");
    for (size_t n = 1; failed; n++) {
        struct session *s = create();
        assert_int_equal(add(s, "one", NULL), PI_OK);
        oom_start(n);
        enum pi_status status = session_add_message(s, m, NULL);
        failed = oom_stop();
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        if (status != PI_OK) {
            assert_int_equal(session_add_message(s, m, NULL), PI_OK);
        }
        session_close(s);
        expect("one two ", false);
        unlink(scratch_path(dir, "s.jsonl"));
    }
    message_destroy(m);
}

static void test_beginning_without_memory(void **state)
{
    (void)state;
    bool failed = true;
    const char *path = scratch_path(dir, "s.jsonl");
    struct session_options options = {.cwd = "/w", .id = "0198", .path = path};
    for (size_t n = 1; failed; n++) {
        struct session *s = NULL;
        oom_start(n);
        enum pi_status status = session_create(&s, &options, NULL);
        if (!status) {
            status = session_add_model(s, "p", "m", NULL);
        }
        if (!status) {
            status = session_add_thinking(s, "low", NULL);
        }
        if (!status) {
            status = session_add_name(s, "name", NULL);
        }
        session_close(s);
        failed = oom_stop();
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        unlink(path);
    }
}

static void test_opening_without_memory(void **state)
{
    (void)state;
    const char *path = scratch_path(dir, "s.jsonl");
    size_t len = 0;
    char *text = scratch_read(getenv("PI_TEST_DATA"), "sessions/every_entry.jsonl", &len);
    // With a line that must be told, one that needs a parser, and a torn end.
    scratch_write(dir, "s.jsonl", text, len - 20);
    free(text);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct session *s = NULL;
        struct buf problems = {0};
        struct journal_owner owner;
        struct session_messages all = {0};
        oom_start(n);
        enum pi_status status = session_open(&s, path, &problems, &owner, NULL);
        if (!status) {
            status = session_messages(s, &all, &problems, NULL);
        }
        failed = oom_stop();
        // A line may be found damaged before memory is missed.
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        assert_true(status != PI_OK || all.len == 10);
        for (size_t i = 0; i < all.len; i++) {
            message_destroy(all.items[i]);
        }
        free(all.items);
        buf_finish(&problems);
        session_close(s);
    }
}

static void test_looking_without_memory(void **state)
{
    (void)state;
    struct session *s = create();
    assert_int_equal(add(s, "one", NULL), PI_OK);
    assert_int_equal(session_add_name(s, "name", NULL), PI_OK);
    session_close(s);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct session_list list = {0};
        char *newest = NULL, *found = NULL;
        oom_start(n);
        enum pi_status status = session_list(&list, dir, "/work", NULL);
        if (!status) {
            status = session_newest(&newest, dir, "/work", NULL);
        }
        if (!status) {
            status = session_find(&found, "0198", dir, dir, NULL);
        }
        failed = oom_stop();
        // A stream of a folder that cannot be opened is a folder without sessions.
        assert_true(failed || status == PI_OK);
        assert_true(status == PI_OK || status == PI_NOMEM || status == PI_NOT_FOUND);
        session_list_finish(&list);
        free(newest);
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_full_disk),
        TEST(test_full_disk_at_the_start),
        TEST(test_part_that_stays),
        TEST(test_short_and_interrupted_writes),
        TEST(test_one_write_for_each_entry),
        TEST(test_sync),
        TEST(test_no_locks),
        TEST(test_adding_without_memory),
        TEST(test_beginning_without_memory),
        TEST(test_opening_without_memory),
        TEST(test_looking_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
