// What the disk host leaves behind when a system call or an allocation fails: the old
// content or the new one, never a part, and no temporary file.
//
// wrap: open read pread write fsync fstat lstat stat ftruncate fallocate lseek
// wrap: rename renameat2 fchown fchmod flistxattr fgetxattr fsetxattr faccessat
// wrap: mkdir fcntl malloc calloc realloc strdup strndup

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sys/xattr.h>

#include "host/host.h"
#include "scratch.h"

/* ---------------------------------------------------------------------- the faults -- */

enum fault_kind {
    FAULT_ERROR,  // the n-th call fails with errnum
    FAULT_STICKY, // the n-th call and all later ones of its function
    FAULT_SHORT,  // the n-th read or write moves one byte only
};

static struct {
    bool armed;
    enum fault_kind kind;
    int errnum;
    int at, calls;
    const char *only;  // NULL = any function
    const char *where; // the function that failed
    bool hit;
} fault;

static bool is_target(const char *name)
{
    if (!fault.armed || (fault.only && strcmp(fault.only, name) != 0)) {
        return false;
    }
    if (fault.kind == FAULT_STICKY && fault.hit) {
        return strcmp(fault.where, name) == 0;
    }
    if (++fault.calls != fault.at) {
        return false;
    }
    fault.where = name;
    fault.hit = true;
    return true;
}

static bool fails(const char *name)
{
    if (!is_target(name)) {
        return false;
    }
    errno = fault.errnum;
    return true;
}

// For allocations: a kind of its own, since they say nothing by errno.
static bool no_memory(const char *name)
{
    return fault.errnum == ENOMEM && is_target(name);
}

static bool fails_call(const char *name)
{
    return fault.errnum != ENOMEM && fault.kind != FAULT_SHORT && fails(name);
}

static size_t cut(const char *name, size_t n)
{
    return fault.kind == FAULT_SHORT && n > 1 && is_target(name) ? 1 : n;
}

#define WRAP(type, name, params, args)                                                   \
    type __real_##name params;                                                           \
    type __wrap_##name params;                                                           \
    type __wrap_##name params                                                            \
    {                                                                                    \
        return fails_call(#name) ? (type)-1 : __real_##name args;                        \
    }

#define WRAP_MOVE(name, params, args)                                                    \
    ssize_t __real_##name params;                                                        \
    ssize_t __wrap_##name params;                                                        \
    ssize_t __wrap_##name params                                                         \
    {                                                                                    \
        if (fails_call(#name)) {                                                         \
            return -1;                                                                   \
        }                                                                                \
        n = cut(#name, n);                                                               \
        return __real_##name args;                                                       \
    }

#define WRAP_ALLOC(type, name, params, args)                                             \
    type __real_##name params;                                                           \
    type __wrap_##name params;                                                           \
    type __wrap_##name params                                                            \
    {                                                                                    \
        return no_memory(#name) ? NULL : __real_##name args;                             \
    }

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return fails_call("open") ? -1 : __real_open(path, flags, mode);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    return fails_call("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}

// Thousands of runs: what is tried here does not need the disk.
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return fails_call("fsync") ? -1 : 0;
}

WRAP_MOVE(read, (int fd, void *p, size_t n), (fd, p, n))
WRAP_MOVE(write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP_MOVE(pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
WRAP(int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(int, lstat, (const char *path, struct stat *st), (path, st))
WRAP(int, stat, (const char *path, struct stat *st), (path, st))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
WRAP(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence))
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat2, (int x, const char *a, int y, const char *b, unsigned f),
     (x, a, y, b, f))
WRAP(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(ssize_t, flistxattr, (int fd, char *list, size_t n), (fd, list, n))
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *p, size_t n), (fd, name, p, n))
WRAP(int, fsetxattr, (int fd, const char *name, const void *p, size_t n, int flags),
     (fd, name, p, n, flags))
WRAP(int, faccessat, (int fd, const char *path, int mode, int flags),
     (fd, path, mode, flags))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP_ALLOC(void *, malloc, (size_t n), (n))
WRAP_ALLOC(void *, calloc, (size_t n, size_t size), (n, size))
WRAP_ALLOC(void *, realloc, (void *p, size_t n), (p, n))
WRAP_ALLOC(char *, strdup, (const char *s), (s))
WRAP_ALLOC(char *, strndup, (const char *s, size_t n), (s, n))

/* ------------------------------------------------------------------- the scenarios -- */

static char *dir;

// One change of one file, and what it is before and after.
struct scenario {
    const char *name; // of the file
    bool linked;      // with a second name, so that it is written in place
    const char *old;  // NULL = a new file
    size_t old_len;
    const char *new;
    size_t new_len;
    struct host_change change;
};

#define TEXT(text) text, sizeof(text) - 1

static const struct scenario scenarios[] = {
    {"replaced",
     false,
     TEXT("one two three\n"),
     TEXT("one 2 and more three\n"),
     {4, 3, {TEXT("2 and more")}}},
    {"grown",
     true,
     TEXT("one two three\n"),
     TEXT("one 2 and more three\n"),
     {4, 3, {TEXT("2 and more")}}},
    {"shrunk", true, TEXT("one two three\n"), TEXT("one 2 three\n"), {4, 3, {TEXT("2")}}},
    {"same",
     true,
     TEXT("one two three\n"),
     TEXT("one TWO three\n"),
     {4, 3, {TEXT("TWO")}}},
    {"utf16",
     false,
     TEXT("\xFF\xFE"
          "a\0b\0"),
     TEXT("\xFF\xFE"
          "a\0\xE9\0"),
     {4, 1, {TEXT("\xC3\xA9")}}},
    {"a/b/new", false, NULL, 0, TEXT("text"), {0, 0, {TEXT("text")}}},
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void prepare(const struct scenario *s)
{
    // Thousands of files: in memory where that is to be had.
    dir = access("/dev/shm", W_OK) == 0 ? scratch_make_in("/dev/shm") : scratch_make();
    if (s->old) {
        scratch_write(dir, s->name, s->old, s->old_len);
        setxattr(scratch_path(dir, s->name), "user.tag", "blue", 4, 0);
    }
    scratch_check(!s->linked ||
                      link(scratch_path(dir, s->name), scratch_path(dir, "twin")) == 0,
                  "link");
}

static enum pi_status run(const struct scenario *s, struct pi_error *err)
{
    struct host *h = host_posix();
    struct host_target t = {0};
    struct host_snapshot snapshot = {0};
    struct host_applied applied = {0};
    enum pi_status status = host_resolve(&t, scratch_path(dir, s->name), s->name, err);
    if (status == PI_OK) {
        status = h->ops->snapshot(h, &t, &snapshot, NULL, err);
    }
    // When the file could not be seen, it is not the change that is tried here.
    if (status == PI_OK && snapshot.is_new != (s->old == NULL)) {
        status = PI_NOT_FOUND;
    }
    if (status == PI_OK) {
        status =
            h->ops->apply(h, &t, &snapshot, &s->change, 1, NULL, &applied, NULL, err);
    }
    host_applied_finish(&applied);
    host_snapshot_finish(&snapshot);
    host_target_finish(&t);
    return status;
}

static int entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    if (d) {
        closedir(d);
    }
    return n;
}

static bool holds(const char *name, const char *text, size_t len)
{
    size_t n = 0;
    char *got = scratch_read(dir, name, &n);
    bool same = got && n == len && memcmp(got, text, n) == 0;
    free(got);
    return same;
}

static void complain(const struct scenario *s, enum pi_status status, const char *what)
{
    fail_msg("%s, call %d (%s, errno %d, kind %d), status %d: %s", s->name, fault.at,
             fault.where ? fault.where : "none", fault.errnum, (int)fault.kind, status,
             what);
}

static void check_new(const struct scenario *s, enum pi_status status)
{
    if (!holds(s->name, s->new, s->new_len)) {
        complain(s, status, "told as done, but the content is not the new one");
    }
    if (s->linked && !holds("twin", s->new, s->new_len)) {
        complain(s, status, "the links came apart");
    }
}

static void check_old(const struct scenario *s, enum pi_status status)
{
    if (s->old ? !holds(s->name, s->old, s->old_len)
               : access(scratch_path(dir, s->name), F_OK) == 0) {
        complain(s, status, "told as failed, but the content is not the old one");
    }
}

// A copy is left only when it is needed.
static void check_copy(const struct scenario *s, const struct pi_error *err)
{
    char copy[64];
    snprintf(copy, sizeof copy, ".%s.pi-restore", s->name);
    if (!holds(copy, s->old, s->old_len) || !strstr(err->message, copy)) {
        complain(s, PI_CONFLICT, "no safety copy with the old content");
    }
}

static void check(const struct scenario *s, enum pi_status status,
                  const struct pi_error *err)
{
    int expected = s->old ? 1 + s->linked : status == PI_OK ? 1 : 0;
    if (status == PI_OK) {
        check_new(s, status);
    } else if (s->linked && status == PI_CONFLICT) {
        check_copy(s, err);
        expected++;
    } else {
        check_old(s, status);
    }
    if (status != PI_OK && err->message[0] == '\0' && status != PI_NOT_FOUND) {
        complain(s, status, "without a word");
    }
    if (entries(dir) != expected) {
        complain(s, status, "something was left in the folder");
    }
    if (!s->old && status == PI_OK && entries(scratch_path(dir, "a/b")) != 1) {
        complain(s, status, "something was left beside the new file");
    }
}

// Lets the first, the second, ... call fail until there is none left to fail.
static int try_all(const struct scenario *s, enum fault_kind kind, int errnum,
                   const char *only)
{
    int done = 0;
    for (int at = 1; at < 1000; at++) {
        struct pi_error err = {0};
        prepare(s);
        memset(&fault, 0, sizeof fault);
        fault.kind = kind;
        fault.errnum = errnum;
        fault.at = at;
        fault.only = only;
        fault.armed = true;
        enum pi_status status = run(s, &err);
        fault.armed = false;
        check(s, status, &err);
        bool hit = fault.hit;
        if (!hit) {
            assert_int_equal(status, PI_OK);
        }
        done += status == PI_OK;
        scratch_remove(dir);
        if (!hit) {
            return done;
        }
    }
    fail_msg("no end");
    return done;
}

static void test_errors(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ENOSPC, EPERM, EOPNOTSUPP, EXDEV};
    for (int i = 0; i < SCENARIOS; i++) {
        for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
            try_all(&scenarios[i], FAULT_ERROR, errors[k], NULL);
        }
    }
}

static void test_lasting_errors(void **state)
{
    (void)state;
    static const char *const functions[] = {"write", "fsync", "ftruncate", "lseek"};
    for (int i = 0; i < SCENARIOS; i++) {
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            try_all(&scenarios[i], FAULT_STICKY, ENOSPC, functions[k]);
            try_all(&scenarios[i], FAULT_STICKY, EIO, functions[k]);
        }
    }
}

// Interrupted and short calls are no failures at all.
static void test_interrupted(void **state)
{
    (void)state;
    static const char *const functions[] = {"read",  "pread",     "write",
                                            "fsync", "ftruncate", "fallocate"};
    for (int i = 0; i < SCENARIOS; i++) {
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            int done = try_all(&scenarios[i], FAULT_ERROR, EINTR, functions[k]);
            assert_int_equal(done, fault.at);
        }
        for (size_t k = 0; k < 3; k++) {
            int done = try_all(&scenarios[i], FAULT_SHORT, 0, functions[k]);
            assert_int_equal(done, fault.at);
        }
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int i = 0; i < SCENARIOS; i++) {
        try_all(&scenarios[i], FAULT_ERROR, ENOMEM, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lasting_errors),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
