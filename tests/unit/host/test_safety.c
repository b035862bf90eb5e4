#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/safety.h"
#include "host_work.h"

static void test_leftover(void **state)
{
    (void)state;
    struct work w;
    scratch_text(dir, "f", "half");
    scratch_text(dir, ".f.pi-restore", "the old content");
    assert_int_equal(work_snapshot(&w, "f"), PI_CONFLICT);
    assert_non_null(strstr(w.err.message, scratch_path(dir, ".f.pi-restore")));
    assert_non_null(strstr(w.err.message, "cp --"));
    assert_string_equal(w.target.leftover, scratch_path(dir, ".f.pi-restore"));
    work_finish(&w);
    // Equal to the file: of no use, and removed.
    scratch_text(dir, ".f.pi-restore", "half");
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    assert_null(w.target.leftover);
    assert_int_equal(entries(), 1);
    work_finish(&w);
}

static void test_copy_in_use(void **state)
{
    (void)state;
    struct work w;
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    scratch_text(dir, "f", "half");
    scratch_check(link(scratch_path(dir, "f"), scratch_path(dir, "twin")) == 0, "link");
    scratch_text(dir, ".f.pi-restore", "the old content");
    int fd = open(scratch_path(dir, ".f.pi-restore"), O_RDWR | O_CLOEXEC);
    scratch_check(fcntl(fd, F_OFD_SETLK, &l) == 0, "lock");
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    assert_null(w.target.leftover);
    assert_int_equal(work_replace(&w, "half", "whole"), PI_STALE);
    assert_true(scratch_holds(dir, "f", "half"));
    close(fd);
    assert_int_equal(work_replace(&w, "half", "whole"), PI_CONFLICT);
    assert_true(scratch_holds(dir, "f", "half"));
    assert_true(scratch_holds(dir, ".f.pi-restore", "the old content"));
    assert_int_equal(entries(), 3);
    work_finish(&w);
}

// As a writer would that is killed half way. Status 0: the copy was found and named.
static int leave_spare_copy(void)
{
    struct safety safety = {.fd = -1};
    struct pi_error err = {0};
    struct stat st;
    const char *path = scratch_path(dir, "f");
    if (stat(path, &st) != 0 ||
        safety_make(&safety, path, &st, sv_of("the old content"), &err) != PI_OK) {
        return 1;
    }
    char *while_alive = safety_find(path);
    char *copy = strdup(safety.path);
    safety_leave(&safety);
    char *found = safety_find(path);
    bool ok = !while_alive && found && strcmp(found, copy) == 0 &&
              strncmp(found, "/var/tmp/", 9) == 0 &&
              edit("f", "half", "x", &err) == PI_CONFLICT && strstr(err.message, copy);
    unlink(copy);
    return ok ? 0 : 2;
}

static void test_folder_that_cannot_be_written(void **state)
{
    (void)state;
    scratch_text(dir, "f", "half");
    scratch_check(chmod(scratch_path(dir, "f"), 0666) == 0 && chmod(dir, 0555) == 0, dir);
    int status = work_as_nobody(leave_spare_copy);
    scratch_check(chmod(dir, 0777) == 0, dir);
    assert_int_equal(status, 0);
    assert_int_equal(entries(), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, work_setup, work_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_leftover),
        TEST(test_copy_in_use),
        cmocka_unit_test_setup_teardown(test_folder_that_cannot_be_written,
                                        work_setup_open, work_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
