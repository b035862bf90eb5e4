#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include "tool/memory.h"

static char *dir;
static struct file_memory *m;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return file_memory_create(&m, NULL) == PI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    file_memory_destroy(m);
    scratch_remove(dir);
    return 0;
}

static struct file_stamp stamp_of(const char *name)
{
    struct stat st;
    scratch_check(stat(scratch_path(dir, name), &st) == 0, name);
    return file_stamp_of(&st);
}

static void saw(const char *name, uint64_t hash)
{
    struct file_stamp stamp = stamp_of(name);
    file_memory_saw(m, name, scratch_path(dir, name), &stamp, hash);
}

static enum memory_verdict check(const char *name, uint64_t hash)
{
    struct file_stamp stamp = stamp_of(name);
    return file_memory_check(m, name, &stamp, hash);
}

static void test_unknown_and_same(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    assert_int_equal(check("f", 1), MEMORY_UNKNOWN);
    assert_int_equal(check("f", 1), MEMORY_UNKNOWN);
    saw("f", 1);
    assert_int_equal(check("f", 1), MEMORY_SAME);
    assert_int_equal(check("f", 0), MEMORY_SAME);
    assert_int_equal(check("f", 2), MEMORY_SAME);
    file_memory_destroy(NULL);
}

static void test_changed_is_told_once(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    saw("f", 1);
    scratch_text(dir, "f", "other");
    assert_int_equal(check("f", 2), MEMORY_CHANGED);
    assert_int_equal(check("f", 2), MEMORY_SAME);
}

static void test_touched_is_same(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    saw("f", 1);
    scratch_check(chmod(scratch_path(dir, "f"), 0600) == 0, "chmod");
    assert_int_equal(check("f", 1), MEMORY_SAME);
    // Only a part was seen: nothing to compare by.
    saw("f", 0);
    scratch_check(chmod(scratch_path(dir, "f"), 0640) == 0, "chmod");
    assert_int_equal(check("f", 1), MEMORY_CHANGED);
}

static void test_buffer(void **state)
{
    (void)state;
    file_memory_saw(m, "b", "/none/b", NULL, 1);
    assert_int_equal(file_memory_check(m, "b", NULL, 1), MEMORY_SAME);
    assert_int_equal(file_memory_check(m, "b", NULL, 2), MEMORY_CHANGED);
    assert_int_equal(file_memory_check(m, "b", NULL, 2), MEMORY_SAME);
    file_memory_after_command(m);
    assert_int_equal(file_memory_check(m, "b", NULL, 2), MEMORY_SAME);
}

static void test_command(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    scratch_text(dir, "g", "one");
    saw("f", 1);
    saw("g", 1);
    scratch_text(dir, "f", "by command");
    file_memory_after_command(m);
    assert_int_equal(check("g", 1), MEMORY_SAME);
    assert_int_equal(check("f", 2), MEMORY_COMMAND);
    assert_int_equal(check("f", 2), MEMORY_SAME);
}

static void test_user_after_command(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    saw("f", 1);
    scratch_text(dir, "f", "by command");
    file_memory_after_command(m);
    scratch_text(dir, "f", "and by the user");
    assert_int_equal(check("f", 3), MEMORY_CHANGED);
}

static void test_seen_after_command(void **state)
{
    (void)state;
    scratch_text(dir, "f", "one");
    saw("f", 1);
    scratch_text(dir, "f", "by command");
    file_memory_after_command(m);
    saw("f", 2);
    assert_int_equal(check("f", 2), MEMORY_SAME);
    scratch_text(dir, "f", "by the user");
    assert_int_equal(check("f", 3), MEMORY_CHANGED);
    unlink(scratch_path(dir, "f"));
    file_memory_after_command(m);
}

static void test_hash(void **state)
{
    (void)state;
    // Published values of FNV-1a.
    assert_true(file_hash(FILE_HASH_START, "", 0) == 0xcbf29ce484222325ULL);
    assert_true(file_hash(FILE_HASH_START, "foobar", 6) == 0x85944171f73967e8ULL);
    uint64_t h = file_hash(FILE_HASH_START, "foo", 3);
    assert_true(file_hash(h, "bar", 3) == 0x85944171f73967e8ULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_unknown_and_same),
        TEST(test_changed_is_told_once),
        TEST(test_touched_is_same),
        TEST(test_buffer),
        TEST(test_command),
        TEST(test_user_after_command),
        TEST(test_seen_after_command),
        TEST(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
