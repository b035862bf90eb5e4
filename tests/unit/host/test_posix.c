#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "host_work.h"

/* ------------------------------------------------------------------------- resolve -- */

static void test_resolve(void **state)
{
    (void)state;
    struct work a, b;
    scratch_text(dir, "real", "x");
    scratch_check(symlink("real", scratch_path(dir, "link")) == 0, "symlink");
    work_resolve(&a, "link");
    work_resolve(&b, "real");
    assert_string_equal(a.target.key, b.target.key);
    assert_string_equal(a.target.path, b.target.path);
    assert_string_equal(a.target.shown, "link");
    assert_true(a.target.exists && S_ISREG(a.target.mode));
    work_finish(&a);
    work_finish(&b);
    scratch_check(link(scratch_path(dir, "real"), scratch_path(dir, "twin")) == 0, "");
    work_resolve(&a, "twin");
    work_resolve(&b, "link");
    assert_string_equal(a.target.key, b.target.key);
    work_finish(&a);
    work_finish(&b);
    work_resolve(&a, "none/x");
    assert_false(a.target.exists);
    assert_string_equal(a.target.key, a.target.path);
    work_finish(&a);
    host_target_finish(NULL);
}

static void test_resolve_loop(void **state)
{
    (void)state;
    struct host_target t = {0};
    struct pi_error err = {0};
    scratch_check(symlink("a", scratch_path(dir, "a")) == 0, "symlink");
    assert_int_equal(host_resolve(&t, scratch_path(dir, "a"), "a", &err), PI_INVALID);
    assert_int_equal(err.code, PI_INVALID);
    assert_int_equal(host_resolve(&t, scratch_path(dir, "a"), "a", NULL), PI_INVALID);
}

/* ---------------------------------------------------------------------------- read -- */

struct sink {
    struct buf got;
    size_t stop_at;
};

static bool collect(void *data, struct sv bytes)
{
    struct sink *s = data;
    buf_addsv(&s->got, bytes);
    return s->stop_at == 0 || s->got.len < s->stop_at;
}

static enum pi_status read_file(const char *name, uint64_t offset, struct sink *s,
                                struct cancel *cancel, struct pi_error *err)
{
    struct host *h = host_posix();
    struct work w;
    struct host_origin origin = {true, true};
    struct file_stamp stamp = {0};
    work_resolve(&w, name);
    enum pi_status status =
        h->ops->read(h, &w.target, offset, collect, s, &origin, &stamp, cancel, err);
    if (status == PI_OK) {
        assert_false(origin.buffer || origin.unsaved);
        assert_true(stamp.ino != 0);
    }
    work_finish(&w);
    return status;
}

static void test_read(void **state)
{
    (void)state;
    size_t n = 700 * 1000;
    char *bytes = malloc(n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(i % 251);
    }
    scratch_write(dir, "f", bytes, n);
    struct sink s = {0};
    assert_int_equal(read_file("f", 0, &s, NULL, NULL), PI_OK);
    assert_int_equal(s.got.len, n);
    assert_memory_equal(s.got.data, bytes, n);
    buf_clear(&s.got);
    assert_int_equal(read_file("f", 699990, &s, NULL, NULL), PI_OK);
    assert_int_equal(s.got.len, 10);
    buf_clear(&s.got);
    assert_int_equal(read_file("f", 800000, &s, NULL, NULL), PI_OK);
    assert_int_equal(s.got.len, 0);
    s.stop_at = 1;
    assert_int_equal(read_file("f", 0, &s, NULL, NULL), PI_OK);
    assert_true(s.got.len < n);
    buf_finish(&s.got);
    free(bytes);
}

static void test_read_refused(void **state)
{
    (void)state;
    struct sink s = {0};
    struct pi_error err = {0};
    scratch_check(mkfifo(scratch_path(dir, "fifo"), 0600) == 0, "mkfifo");
    assert_int_equal(read_file("fifo", 0, &s, NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "FIFO"));
    assert_int_equal(read_file(".", 0, &s, NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(read_file("none", 0, &s, NULL, &err), PI_NOT_FOUND);
    struct cancel *cancel = NULL;
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    scratch_text(dir, "f", "x");
    assert_int_equal(read_file("f", 0, &s, cancel, &err), PI_ABORTED);
    cancel_unref(cancel);
    assert_int_equal(s.got.len, 0);
}

/* -------------------------------------------------------------------------- change -- */

static void test_edit_keeps_the_rest(void **state)
{
    (void)state;
    const char bytes[] = "one\r\ntwo\0\xFFthree\n";
    scratch_write(dir, "f", bytes, sizeof bytes - 1);
    assert_int_equal(edit("f", "one", "1", NULL), PI_OK);
    size_t n = 0;
    char *got = scratch_read(dir, "f", &n);
    assert_int_equal(n, sizeof bytes - 3);
    assert_memory_equal(got, "1\r\ntwo\0\xFFthree\n", n);
    free(got);
    assert_int_equal(entries(), 1);
}

static void test_several_changes(void **state)
{
    (void)state;
    struct work w;
    scratch_text(dir, "f", "alpha beta gamma\n");
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    assert_false(w.snapshot.is_new || w.snapshot.origin.buffer);
    struct host_change c[] = {
        {0, 0, sv_of("> ")}, {6, 4, sv_of("delta")}, {17, 0, sv_of("end")}};
    assert_int_equal(work_apply(&w, c, 3), PI_OK);
    assert_true(scratch_holds(dir, "f", "> alpha delta gamma\nend"));
    struct stat st;
    stat(scratch_path(dir, "f"), &st);
    struct file_stamp now = file_stamp_of(&st);
    assert_true(file_stamp_eq(&now, &w.applied.stamp));
    // The snapshot is of the text before.
    assert_int_equal(work_apply(&w, c, 3), PI_STALE);
    work_finish(&w);
}

static void test_wrong_changes(void **state)
{
    (void)state;
    struct work w;
    scratch_text(dir, "f", "a\xC3\xA9z");
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    struct host_change overlap[] = {{0, 3, sv_of("")}, {1, 1, sv_of("")}};
    struct host_change beyond = {4, 1, sv_of("")}, far = {5, 0, sv_of("")};
    struct host_change inside = {2, 0, sv_of("x")}, ends_inside = {1, 1, sv_of("x")};
    assert_int_equal(work_apply(&w, overlap, 2), PI_INVALID);
    assert_int_equal(work_apply(&w, &beyond, 1), PI_INVALID);
    assert_int_equal(work_apply(&w, &far, 1), PI_INVALID);
    assert_int_equal(work_apply(&w, &inside, 1), PI_INVALID);
    assert_int_equal(work_apply(&w, &ends_inside, 1), PI_INVALID);
    assert_true(scratch_holds(dir, "f", "a\xC3\xA9z"));
    work_finish(&w);
}

static void test_keeps_mode_owner_and_attributes(void **state)
{
    (void)state;
    struct stat st;
    char value[8] = "";
    const char *path = scratch_path(dir, "f");
    scratch_text(dir, "f", "old\n");
    bool root = geteuid() == 0;
    scratch_check(!root || chown(path, 65534, 65533) == 0, "chown");
    scratch_check(chmod(path, root ? 06754 : 0754) == 0, "chmod");
    bool attributes = setxattr(path, "user.tag", "blue", 4, 0) == 0;
    assert_int_equal(edit("f", "old", "new", NULL), PI_OK);
    assert_true(scratch_holds(dir, "f", "new\n"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, root ? 06754 : 0754);
    assert_true(!root || (st.st_uid == 65534 && st.st_gid == 65533));
    assert_true(!attributes || getxattr(path, "user.tag", value, 8) == 4);
    assert_true(!attributes || memcmp(value, "blue", 4) == 0);
}

// POSIX ACL of version 2: user::rw-, user:65534:r--, group::r--, mask::r--, other::r--
static const unsigned char acl[] = {
    2, 0,    0,    0,    1,    0,    6,    0, 0xFF, 0xFF, 0xFF, 0xFF, 2,    0,    4,
    0, 0xFE, 0xFF, 0,    0,    4,    0,    4, 0,    0xFF, 0xFF, 0xFF, 0xFF, 0x10, 0,
    4, 0,    0xFF, 0xFF, 0xFF, 0xFF, 0x20, 0, 4,    0,    0xFF, 0xFF, 0xFF, 0xFF};

static void test_keeps_acl(void **state)
{
    (void)state;
    static const char name[] = "system.posix_acl_access";
    const char *path = scratch_path(dir, "f");
    unsigned char got[64];
    scratch_text(dir, "f", "old\n");
    if (setxattr(path, name, acl, sizeof acl, 0) != 0) {
        skip();
    }
    assert_int_equal(edit("f", "old", "new", NULL), PI_OK);
    assert_int_equal(getxattr(path, name, got, sizeof got), sizeof acl);
    assert_memory_equal(got, acl, sizeof acl);
    // A default ACL of the folder must not come to a file that had none.
    scratch_text(dir, "g", "old\n");
    scratch_check(setxattr(dir, "system.posix_acl_default", acl, sizeof acl, 0) == 0, "");
    assert_int_equal(edit("g", "old", "new", NULL), PI_OK);
    assert_int_equal(getxattr(scratch_path(dir, "g"), name, got, sizeof got), -1);
}

static void test_links_stay(void **state)
{
    (void)state;
    struct stat a, b;
    scratch_text(dir, "one", "alpha and more\n");
    scratch_check(link(scratch_path(dir, "one"), scratch_path(dir, "twin")) == 0, "link");
    scratch_check(symlink("one", scratch_path(dir, "sym")) == 0, "symlink");
    assert_int_equal(edit("one", "alpha", "beta", NULL), PI_OK);
    assert_true(scratch_holds(dir, "twin", "beta and more\n"));
    assert_int_equal(edit("sym", "beta", "longer than before", NULL), PI_OK);
    assert_int_equal(edit("twin", "more", "mare", NULL), PI_OK);
    assert_true(scratch_holds(dir, "one", "longer than before and mare\n"));
    stat(scratch_path(dir, "one"), &a);
    stat(scratch_path(dir, "twin"), &b);
    assert_true(a.st_ino == b.st_ino && a.st_nlink == 2);
    lstat(scratch_path(dir, "sym"), &b);
    assert_true(S_ISLNK(b.st_mode));
    assert_int_equal(entries(), 3);
}

static void test_in_place_keeps_set_id_bits(void **state)
{
    (void)state;
    struct stat st;
    const char *path = scratch_path(dir, "one");
    scratch_text(dir, "one", "alpha\n");
    scratch_check(link(path, scratch_path(dir, "twin")) == 0, "link");
    scratch_check(chmod(path, 04755) == 0, "chmod");
    assert_int_equal(edit("one", "alpha", "beta", NULL), PI_OK);
    stat(path, &st);
    assert_int_equal(st.st_mode & 07777, 04755);
}

static void test_new_file(void **state)
{
    (void)state;
    struct work w;
    struct stat st;
    mode_t mask = umask(027);
    assert_int_equal(work_snapshot(&w, "a/b/new"), PI_OK);
    assert_true(w.snapshot.is_new);
    assert_int_equal(w.snapshot.text.len, 0);
    struct host_change c = {0, 0, sv_of("text\n")};
    assert_int_equal(work_apply(&w, &c, 1), PI_OK);
    assert_true(scratch_holds(dir, "a/b/new", "text\n"));
    stat(scratch_path(dir, "a/b/new"), &st);
    assert_int_equal(st.st_mode & 07777, 0640);
    struct file_stamp now = file_stamp_of(&st);
    assert_true(file_stamp_eq(&now, &w.applied.stamp));
    // By now it exists.
    assert_int_equal(work_apply(&w, &c, 1), PI_STALE);
    work_finish(&w);
    umask(mask);
}

static void test_new_empty_file(void **state)
{
    (void)state;
    struct work w;
    assert_int_equal(work_snapshot(&w, "empty"), PI_OK);
    assert_int_equal(work_apply(&w, NULL, 0), PI_OK);
    assert_true(scratch_holds(dir, "empty", ""));
    work_finish(&w);
}

static void test_dangling_link_makes_its_target(void **state)
{
    (void)state;
    struct work w;
    struct stat st;
    scratch_check(symlink("sub/target", scratch_path(dir, "link")) == 0, "symlink");
    assert_int_equal(work_snapshot(&w, "link"), PI_OK);
    struct host_change c = {0, 0, sv_of("x")};
    assert_int_equal(work_apply(&w, &c, 1), PI_OK);
    assert_true(scratch_holds(dir, "sub/target", "x"));
    lstat(scratch_path(dir, "link"), &st);
    assert_true(S_ISLNK(st.st_mode));
    work_finish(&w);
}

static void test_failed_creation_leaves_nothing(void **state)
{
    (void)state;
    struct work w;
    struct cancel *cancel = NULL;
    struct host *h = host_posix();
    assert_int_equal(work_snapshot(&w, "a/b/new"), PI_OK);
    struct rlimit old, small = {.rlim_cur = 3, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    scratch_check(setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit");
    struct host_change c = {0, 0, sv_of("more than three")};
    enum pi_status status = work_apply(&w, &c, 1);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, PI_IO);
    assert_non_null(strstr(w.err.message, "Nothing was changed"));
    assert_int_equal(entries(), 0);
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    status =
        h->ops->apply(h, &w.target, &w.snapshot, &c, 1, NULL, &w.applied, cancel, &w.err);
    assert_int_equal(status, PI_ABORTED);
    assert_int_equal(entries(), 0);
    cancel_unref(cancel);
    work_finish(&w);
}

static void test_file_as_parent(void **state)
{
    (void)state;
    struct work w;
    scratch_text(dir, "f", "");
    enum pi_status status = work_snapshot(&w, "f/x");
    if (status == PI_OK) {
        status = work_apply(&w, NULL, 0);
    }
    assert_int_equal(status, PI_IO);
    assert_non_null(strstr(w.err.message, "a part of the path is a file"));
    work_finish(&w);
}

static void test_long_name(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    scratch_text(dir, name, "old");
    assert_int_equal(edit(name, "old", "new", NULL), PI_OK);
    scratch_check(link(scratch_path(dir, name), scratch_path(dir, "twin")) == 0, "link");
    assert_int_equal(edit(name, "new", "newer", NULL), PI_OK);
    assert_true(scratch_holds(dir, "twin", "newer"));
    assert_int_equal(entries(), 2);
}

/* --------------------------------------------------------------------------- stale -- */

static void test_stale(void **state)
{
    (void)state;
    struct work w;
    scratch_text(dir, "f", "one two\n");
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    scratch_text(dir, "f", "one 222\n");
    assert_int_equal(work_replace(&w, "one", "1"), PI_STALE);
    assert_true(scratch_holds(dir, "f", "one 222\n"));
    unlink(scratch_path(dir, "f"));
    assert_int_equal(work_replace(&w, "one", "1"), PI_STALE);
    assert_int_equal(entries(), 0);
    work_finish(&w);
}

// A change that time and size do not tell must be seen all the same.
static void test_stale_by_content(void **state)
{
    (void)state;
    static const char *const names[] = {"single", "linked"};
    for (int i = 0; i < 2; i++) {
        struct work w;
        struct stat st;
        const char *name = names[i];
        scratch_text(dir, name, "one two\n");
        scratch_check(
            i == 0 || link(scratch_path(dir, name), scratch_path(dir, "t")) == 0, "link");
        assert_int_equal(work_snapshot(&w, name), PI_OK);
        scratch_text(dir, name, "one 222\n");
        stat(scratch_path(dir, name), &st);
        w.snapshot.stamp = file_stamp_of(&st);
        assert_int_equal(work_replace(&w, "one", "1"), PI_STALE);
        assert_true(scratch_holds(dir, name, "one 222\n"));
        work_finish(&w);
    }
    assert_int_equal(entries(), 3);
}

/* --------------------------------------------------------------------- permissions -- */

static int edit_read_only(void)
{
    struct pi_error err = {0};
    enum pi_status status = edit("ro", "a", "b", &err);
    return status == PI_DENIED && strstr(err.message, "0444") &&
                   strstr(err.message, "read-only") && strstr(err.message, "/ro")
               ? 0
               : 1;
}

static void test_read_only(void **state)
{
    (void)state;
    scratch_text(dir, "ro", "a\n");
    scratch_check(chmod(scratch_path(dir, "ro"), 0444) == 0, dir);
    assert_int_equal(work_as_nobody(edit_read_only), 0);
    assert_true(scratch_holds(dir, "ro", "a\n"));
    assert_int_equal(entries(), 1);
}

static bool set_flags(const char *name, int flags)
{
    int fd = open(scratch_path(dir, name), O_RDONLY | O_CLOEXEC);
    bool ok = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
    close(fd);
    return ok;
}

static void test_append_only(void **state)
{
    (void)state;
    struct pi_error err = {0};
    scratch_text(dir, "log", "a\n");
    if (!set_flags("log", FS_APPEND_FL)) {
        skip(); // only root may, and not on every file system
    }
    enum pi_status status = edit("log", "a", "b", &err);
    scratch_check(set_flags("log", 0), "flags");
    assert_int_equal(status, PI_DENIED);
    assert_non_null(strstr(err.message, "may only be appended to"));
    assert_true(scratch_holds(dir, "log", "a\n"));
    assert_int_equal(entries(), 1);
}

static int edit_f(void)
{
    struct pi_error err = {0};
    enum pi_status status = edit("f", "alpha", "beta", &err);
    if (status != PI_OK) {
        fprintf(stderr, "%s\n", err.message);
    }
    return (int)status;
}

static void test_folder_not_writable(void **state)
{
    (void)state;
    struct stat before, after;
    const char *path = scratch_path(dir, "f");
    scratch_text(dir, "f", "alpha\n");
    scratch_check(chmod(path, 0666) == 0 && chmod(dir, 0555) == 0, dir);
    stat(path, &before);
    int status = work_as_nobody(edit_f);
    stat(path, &after);
    scratch_check(chmod(dir, 0777) == 0, dir);
    assert_int_equal(status, PI_OK);
    assert_true(scratch_holds(dir, "f", "beta\n"));
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(entries(), 1);
}

static void test_owner_that_cannot_be_kept(void **state)
{
    (void)state;
    struct stat before, after;
    const char *path = scratch_path(dir, "f");
    if (geteuid() != 0) {
        skip();
    }
    scratch_text(dir, "f", "alpha\n");
    scratch_check(chmod(path, 0666) == 0, path);
    stat(path, &before);
    assert_int_equal(work_as_nobody(edit_f), PI_OK);
    stat(path, &after);
    assert_true(scratch_holds(dir, "f", "beta\n"));
    assert_true(before.st_ino == after.st_ino && after.st_uid == 0);
    assert_int_equal(entries(), 1);
}

/* --------------------------------------------------------------------------- other -- */

static void test_changed_text(void **state)
{
    (void)state;
    struct buf b = {0};
    struct host_change c[] = {{0, 1, sv_of("A")}, {2, 0, sv_of("-")}};
    assert_int_equal(host_changed_text(&b, sv_of("abcd"), c, 2), PI_OK);
    assert_string_equal(buf_cstr(&b), "Ab-cd");
    buf_clear(&b);
    assert_int_equal(host_changed_text(&b, sv_of("a"), c, 2), PI_INVALID);
    buf_finish(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, work_setup, work_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_resolve),
        TEST(test_resolve_loop),
        TEST(test_read),
        TEST(test_read_refused),
        TEST(test_edit_keeps_the_rest),
        TEST(test_several_changes),
        TEST(test_wrong_changes),
        TEST(test_keeps_mode_owner_and_attributes),
        TEST(test_keeps_acl),
        TEST(test_links_stay),
        TEST(test_in_place_keeps_set_id_bits),
        TEST(test_new_file),
        TEST(test_new_empty_file),
        TEST(test_dangling_link_makes_its_target),
        TEST(test_failed_creation_leaves_nothing),
        TEST(test_file_as_parent),
        TEST(test_long_name),
        TEST(test_stale),
        TEST(test_stale_by_content),
        cmocka_unit_test_setup_teardown(test_read_only, work_setup_open, work_teardown),
        cmocka_unit_test_setup_teardown(test_append_only, work_setup_open, work_teardown),
        cmocka_unit_test_setup_teardown(test_folder_not_writable, work_setup_open,
                                        work_teardown),
        cmocka_unit_test_setup_teardown(test_owner_that_cannot_be_kept, work_setup_open,
                                        work_teardown),
        TEST(test_changed_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
