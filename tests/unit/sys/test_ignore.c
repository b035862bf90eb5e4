#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"
#include "sys/ignore.h"

static enum ignore_verdict check(const char *rules, const char *path)
{
    struct ignore_level l = {0};
    size_t n = strlen(path);
    bool folder = n > 0 && path[n - 1] == '/';
    assert_int_equal(ignore_add(&l, sv_of(rules), NULL), PI_OK);
    enum ignore_verdict v = ignore_check(&l, sv_make(path, n - folder), folder);
    ignore_finish(&l);
    return v;
}

#define assert_ignored(rules, path) assert_int_equal(check(rules, path), IGNORE_YES)
#define assert_kept(rules, path) assert_int_not_equal(check(rules, path), IGNORE_YES)

static void test_rules(void **state)
{
    (void)state;
    assert_ignored("*.o\n", "a/b.o");
    assert_ignored("*.o", "b.o");
    assert_kept("/b.o\n", "a/b.o");
    assert_ignored("/b.o\n", "b.o");
    assert_kept("b/\n", "b");
    assert_ignored("b/\n", "a/b/");
    assert_ignored("a/b\n", "a/b");
    assert_kept("a/b\n", "x/a/b");
    assert_ignored("**/a/b\n", "x/a/b");
    assert_ignored("a/**/b\n", "a/b");
    assert_int_equal(check("*.o\n!b.o\n", "b.o"), IGNORE_NO);
    assert_ignored("!b.o\n*.o\n", "b.o");
    assert_int_equal(check("*.o\n", "b.c"), IGNORE_UNDECIDED);
}

static void test_lines(void **state)
{
    (void)state;
    assert_ignored("\xEF\xBB\xBF"
                   "a\r\nb\r\n",
                   "a");
    assert_ignored("a\r\nb\r\n", "b");
    assert_kept("#a\n", "#a");
    assert_ignored("\\#a\n", "#a");
    assert_ignored("\\!a\n", "!a");
    assert_ignored("a  \n", "a");
    assert_ignored("a\\ \n", "a ");
    assert_kept("\n\n  \n!\n/\n", "a");
}

static void test_levels(void **state)
{
    (void)state;
    struct ignore_level top = {0};
    struct ignore_level low = {.parent = &top, .depth = 3};
    assert_int_equal(ignore_add(&top, sv_of("*.o\n/x\n"), NULL), PI_OK);
    assert_int_equal(ignore_add(&low, sv_of("!k.o\n"), NULL), PI_OK);
    // A second file of the same folder comes later and wins.
    assert_int_equal(ignore_add(&low, sv_of("/x\n!/y\n"), NULL), PI_OK);
    assert_int_equal(ignore_check(&low, sv_of("sub/k.o"), false), IGNORE_NO);
    assert_int_equal(ignore_check(&low, sv_of("sub/d.o"), false), IGNORE_YES);
    assert_int_equal(ignore_check(&low, sv_of("sub/x"), false), IGNORE_YES);
    assert_int_equal(ignore_check(&low, sv_of("sub/y"), false), IGNORE_NO);
    assert_int_equal(ignore_check(&top, sv_of("sub/x"), false), IGNORE_UNDECIDED);
    ignore_finish(&low);
    ignore_finish(&top);
}

static const char *const rules[] = {
    "a",     "/a",          "a/",   "*a",     "a*",  "?",    "[ab]", "[!a]",
    "[^a]",  "a/b",         "**/b", "a/**",   "**",  "/**",  "*",    "/*",
    "*/b",   "a/**/b",      "\\a",  "[a-c]b", "a b", "a b ", "a\\ ", "\\*",
    "[]a]",  "[[:alpha:]]", "a?b",  "ab*c",   "*/",  "**a",  "a**",  "[a",
    "a\\\\", "**/*",        "*b*",  "/a/*/b", ".*",  "!a",   "[a-]", "[\\]]",
};
static const char *const paths[] = {
    "a",   "b",     "ab",  "a b",   "*",       "]",  "-",     ".x",   "abc", "axb", "d/a",
    "d/b", "d/a/b", "a/b", "a/x/b", "a/x/y/b", "cb", "a\\\\", "d/ab", "a ",  "1",
};

// Each rule alone against each path, which is a file. The question is what git says of
// the path itself, so rules that match one of its folders are asked for those as well.
static bool ignored_on_the_way(const char *rule, const char *path)
{
    struct ignore_level l = {0};
    bool ignored = false;
    size_t n = strlen(path);
    assert_int_equal(ignore_add(&l, sv_of(rule), NULL), PI_OK);
    for (size_t i = 1; i <= n && !ignored; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            ignored = ignore_check(&l, sv_make(path, i), i < n) == IGNORE_YES;
        }
    }
    ignore_finish(&l);
    return ignored;
}

static void test_as_git(void **state)
{
    (void)state;
    if (system("git --version >/dev/null 2>&1") != 0) {
        skip();
    }
    char *dir = scratch_make();
    char command[1024];
    snprintf(command, sizeof command, "git init -q '%s'", dir);
    assert_int_equal(system(command), 0);
    FILE *list = fopen(scratch_path(dir, "list"), "wb");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        fwrite(paths[i], 1, strlen(paths[i]) + 1, list);
    }
    fclose(list);
    snprintf(command, sizeof command,
             "cd '%s' && git check-ignore -z --no-index --stdin <list >out; [ $? -le 1 ]",
             dir);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        scratch_text(dir, ".gitignore", rules[i]);
        assert_int_equal(system(command), 0);
        size_t n = 0;
        char *out = scratch_read(dir, "out", &n);
        const char *next = out;
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
            bool git = next < out + n && strcmp(next, paths[k]) == 0;
            next += git ? strlen(next) + 1 : 0;
            if (ignored_on_the_way(rules[i], paths[k]) != git) {
                fail_msg("rule '%s', path '%s': git says %d", rules[i], paths[k], git);
            }
        }
        assert_ptr_equal(next, out + n);
        free(out);
    }
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_as_git),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
