#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"
#include "sys/path.h"

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

// Resolves in dir; NULL and *status when it fails.
static char *resolve(const char *argument, bool for_reading, bool *folded)
{
    struct path_request request = {
        .argument = argument, .cwd = dir, .home = "/home/me", .for_reading = for_reading};
    struct pi_error err = {0};
    char *out = NULL;
    enum pi_status status = path_resolve(&out, folded, &request, &err);
    if (status != PI_OK) {
        assert_int_equal(status, PI_INVALID);
        assert_int_equal(err.code, PI_INVALID);
        assert_true(err.message[0] != '\0');
        assert_null(out);
    }
    return out;
}

static void check(const char *argument, bool for_reading, const char *expected,
                  bool expected_folded)
{
    bool folded = !expected_folded;
    char *got = resolve(argument, for_reading, &folded);
    assert_non_null(got);
    const char *want = expected[0] == '/' ? expected : scratch_path(dir, expected);
    assert_string_equal(got, want);
    assert_int_equal(folded, expected_folded);
    free(got);
}

static void test_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"/a/b", "c", "/a/b/c"},  {"/a/b", "../c", "/a/c"}, {"/a/b", "/x//y/", "/x/y"},
        {"/", "x", "/x"},         {"/a", "../../..", "/"},  {"/a/./b/", ".", "/a/b"},
        {"a", "../../b", "../b"}, {"a", "..", "."},         {"", "x/y/..", "x"},
        {"/a", "", "/a"},         {"..", "..", "../.."},    {"/a", "b/../../../c", "/c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = path_join(cases[i][0], cases[i][1]);
        assert_string_equal(got, cases[i][2]);
        free(got);
    }
}

static void test_parts(void **state)
{
    (void)state;
    assert_string_equal(path_base("/a/b"), "b");
    assert_string_equal(path_base("b"), "b");
    static const char *const dirs[][2] = {{"/x", "/"}, {"/a/b", "/a"}, {"x", "."}};
    for (size_t i = 0; i < 3; i++) {
        char *got = path_dir(dirs[i][0]);
        assert_string_equal(got, dirs[i][1]);
        free(got);
    }
    assert_true(path_inside("/project", "/project"));
    assert_true(path_inside("/project/a", "/project"));
    assert_true(path_inside("/project/a", "/project/"));
    assert_false(path_inside("/project-evil/b", "/project"));
    assert_true(path_inside("/x", "/"));
    assert_false(path_inside("/", "/x"));
    assert_string_equal(path_relative("/project/a/b", "/project"), "a/b");
    assert_string_equal(path_relative("/x", "/"), "x");
    assert_string_equal(path_relative("/other/a", "/project"), "/other/a");
    assert_string_equal(path_relative("/project", "/project"), "/project");
}

static void test_simple(void **state)
{
    (void)state;
    check("a.txt", true, "a.txt", false);
    check("", true, dir, false);
    check("./x/../b//c/", false, "b/c", false);
    check("/etc/./passwd", true, "/etc/passwd", false);
    check("~", true, "/home/me", false);
    check("~/t.txt", false, "/home/me/t.txt", false);
    check("~//t.txt", false, "/home/me/t.txt", false);
}

static void test_refused(void **state)
{
    (void)state;
    char longer[5000], name[300];
    memset(longer, 'a', sizeof longer);
    for (size_t i = 0; i < sizeof longer; i += 100) {
        longer[i] = '/';
    }
    longer[4096] = '\0';
    memset(name, 'a', sizeof name);
    name[256] = '\0';
    assert_null(resolve(longer, true, NULL));
    assert_null(resolve(name, true, NULL));
    assert_null(resolve("bad\xFFname", true, NULL));
    assert_null(resolve("~bob/x", false, NULL));
    assert_null(resolve("~bob", true, NULL));
    scratch_text(dir, "~bob", "");
    check("~bob", true, "~bob", false);
    check("./~bob", true, "~bob", false);
    struct path_request request = {.argument = "~/x", .cwd = dir, .home = NULL};
    char *out = NULL;
    assert_int_equal(path_resolve(&out, NULL, &request, NULL), PI_INVALID);
}

static void test_at(void **state)
{
    (void)state;
    scratch_text(dir, "a", "");
    check("@a", true, "a", false);
    check("@new", false, "new", false);
    scratch_text(dir, "@a", "");
    check("@a", true, "@a", false);
    check("@", true, "@", false);
    mkdir(scratch_path(dir, "@types"), 0777);
    check("@types/new.ts", false, "@types/new.ts", false);
    check("@other/new.ts", false, "other/new.ts", false);
    check("@~/x", false, "/home/me/x", false);
}

#define NBSP "\xC2\xA0"
#define NARROW "\xE2\x80\xAF"

static void test_exact_name_wins(void **state)
{
    (void)state;
    scratch_text(dir, "a" NBSP "b", "");
    scratch_text(dir, "a b", "");
    check("a" NBSP "b", true, "a" NBSP "b", false);
    check("a b", true, "a b", false);
}

static void test_look_alikes_for_reading(void **state)
{
    (void)state;
    scratch_text(dir, "shot 3" NARROW "PM.png", "");
    check("shot 3 PM.png", true, "shot 3" NARROW "PM.png", true);
    check("shot 3 PM.png", false, "shot 3 PM.png", false);
    scratch_text(dir, "cafe\xCC\x81.txt", "");
    check("caf\xC3\xA9.txt", true, "cafe\xCC\x81.txt", true);
    scratch_text(dir, "na\xC3\xAFve.txt", "");
    check("nai\xCC\x88ve.txt", true, "na\xC3\xAFve.txt", true);
    scratch_text(dir, "it\xE2\x80\x99s", "");
    check("it's", true, "it\xE2\x80\x99s", true);
    mkdir(scratch_path(dir, "d" NBSP "d"), 0777);
    scratch_text(dir, "d" NBSP "d/x" NARROW "y", "");
    check("d d/x y", true, "d" NBSP "d/x" NARROW "y", true);
    check("@d d/x y", true, "d" NBSP "d/x" NARROW "y", true);
    check("nothing like it", true, "nothing like it", false);
}

static void test_several_look_alikes_are_none(void **state)
{
    (void)state;
    scratch_text(dir, "a" NARROW "b", "");
    scratch_text(dir, "a" NBSP "b", "");
    check("a b", true, "a b", false);
}

static void test_plain_blanks_for_writing(void **state)
{
    (void)state;
    scratch_text(dir, "a b", "");
    check("a" NBSP "b", false, "a b", true);
    check("new" NBSP "b", false, "new" NBSP "b", false);
}

static void check_real(const char *path, const char *expected)
{
    char *got = NULL;
    assert_int_equal(path_real(&got, path, NULL), PI_OK);
    assert_string_equal(got, expected);
    free(got);
}

static void test_real(void **state)
{
    (void)state;
    mkdir(scratch_path(dir, "real"), 0777);
    scratch_text(dir, "real/f", "");
    scratch_check(symlink("real", scratch_path(dir, "link")) == 0, "symlink");
    scratch_check(symlink("link/missing/../new", scratch_path(dir, "dangling")) == 0, "");
    scratch_check(symlink("/etc/passwd", scratch_path(dir, "absolute")) == 0, "");
    check_real(scratch_path(dir, "link/f"), scratch_path(dir, "real/f"));
    check_real(scratch_path(dir, "link/new/x"), scratch_path(dir, "real/new/x"));
    check_real(scratch_path(dir, "dangling"), scratch_path(dir, "real/new"));
    check_real(scratch_path(dir, "absolute"), "/etc/passwd");
    check_real(scratch_path(dir, "link/../real/f"), scratch_path(dir, "real/f"));
    check_real("/", "/");
    check_real("/..//", "/");
}

static void test_real_loop(void **state)
{
    (void)state;
    struct pi_error err = {0};
    char *got = NULL;
    scratch_check(symlink("b", scratch_path(dir, "a")) == 0, "symlink");
    scratch_check(symlink("a", scratch_path(dir, "b")) == 0, "symlink");
    assert_int_equal(path_real(&got, scratch_path(dir, "a"), &err), PI_IO);
    assert_null(got);
    assert_non_null(strstr(err.message, "loop"));
}

static void test_real_of_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    check_real(path, path);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_join),
        TEST(test_parts),
        TEST(test_simple),
        TEST(test_refused),
        TEST(test_at),
        TEST(test_exact_name_wins),
        TEST(test_look_alikes_for_reading),
        TEST(test_several_look_alikes_are_none),
        TEST(test_plain_blanks_for_writing),
        TEST(test_real),
        TEST(test_real_loop),
        TEST(test_real_of_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
