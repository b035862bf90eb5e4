// Every allocation fails once: a status says so, and nothing is lost (the address
// sanitizer looks).

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oom.h"
#include "scratch.h"
#include "sys/file.h"
#include "sys/path.h"

// wrap: malloc calloc realloc strdup

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

static void resolve_without_memory(const char *argument, bool for_reading)
{
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct path_request request = {.argument = argument,
                                       .cwd = dir,
                                       .home = "/home",
                                       .for_reading = for_reading};
        struct pi_error err = {0};
        char *out = NULL;
        oom_start(n);
        enum pi_status status = path_resolve(&out, NULL, &request, &err);
        failed = oom_stop();
        // A look-alike that could not be looked for is none.
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        assert_int_equal(status == PI_OK, out != NULL);
        free(out);
    }
}

static void test_resolve(void **state)
{
    (void)state;
    scratch_text(dir, "it\xE2\x80\x99s", "");
    scratch_text(dir, "a b", "");
    resolve_without_memory("plain", true);
    resolve_without_memory("~/x", true);
    resolve_without_memory("@it's", true);
    resolve_without_memory("a\xC2\xA0"
                           "b",
                           false);
    resolve_without_memory("@x/new", false);
}

static void test_real(void **state)
{
    (void)state;
    bool failed = true;
    scratch_check(symlink("b/c", scratch_path(dir, "a")) == 0, "symlink");
    for (size_t n = 1; failed; n++) {
        char *out = NULL;
        oom_start(n);
        enum pi_status status = path_real(&out, scratch_path(dir, "a/x"), NULL);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        assert_int_equal(status == PI_OK, out != NULL);
        free(out);
    }
}

static void test_files(void **state)
{
    (void)state;
    bool failed = true;
    scratch_text(dir, "f", "text");
    for (size_t n = 1; failed; n++) {
        struct buf b = {0};
        oom_start(n);
        enum pi_status status = file_load(&b, scratch_path(dir, "f"), 100, NULL);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        buf_finish(&b);
    }
    failed = true;
    for (size_t n = 1; failed; n++) {
        oom_start(n);
        enum pi_status status = file_make_dirs(scratch_path(dir, "d/e"), 0777, NULL);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_resolve),
        TEST(test_real),
        TEST(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
