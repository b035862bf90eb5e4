#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "random.h"
#include "text/glob.h"

struct row {
    const char *pattern, *path;
    unsigned flags;
    bool want;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        if (glob_match(sv_of(r->pattern), sv_of(r->path), r->flags) != r->want) {
            fail_msg("\"%s\" on \"%s\" is not %s", r->pattern, r->path,
                     r->want ? "a match" : "a miss");
        }
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

static void stars_stay_in_their_component(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*.c", "a.c", 0, true},     {"*.c", "d/a.c", 0, false},
        {"*", "", 0, true},          {"a*b*c", "aXbYc", 0, true},
        {"a*b*c", "aXbY", 0, false}, {"?.c", "é.c", 0, true},
        {"?.c", "/.c", 0, false},    {"?.c", "\xff.c", 0, true},
        {"d/*", "d/x", 0, true},     {"d/*", "d/x/y", 0, false},
        {"a**b", "axxb", 0, true},   {"a**b", "ax/xb", 0, false},
        {"\\*", "*", 0, true},       {"\\*", "x", 0, false},
        {"a", "a/", 0, false},
    };
    CHECK(rows);
}

static void double_stars_cross_components(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"**/a", "a", 0, true},       {"**/a", "x/y/a", 0, true},
        {"**/a", "x/ya", 0, false},   {"a/**", "a/b/c", 0, true},
        {"a/**", "a", 0, false},      {"a/**", "a/", 0, false},
        {"a/**/b", "a/b", 0, true},   {"a/**/b", "a/x/y/b", 0, true},
        {"a/**/b", "a/xb", 0, false}, {"**", "x/y", 0, true},
        {"**/*.c", "x/y.c", 0, true},
    };
    CHECK(rows);
}

static void classes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"[abc]", "b", 0, true},
        {"[!abc]", "b", 0, false},
        {"[^abc]", "x", 0, true},
        {"[a-c]x", "bx", 0, true},
        {"[]]", "]", 0, true},
        {"[!]]", "]", 0, false},
        {"[a-]", "-", 0, true},
        {"[é-ü]", "ö", 0, true},
        {"[[:digit:]]", "7", 0, true},
        {"[[:digit:]]", "x", 0, false},
        {"[a", "[a", 0, true},
        {"[!a]", "/", 0, false},
        {"[\\]]", "]", 0, true},
        {"[A-C]", "b", GLOB_IGNORE_CASE, true},
        {"[a-c]", "B", GLOB_IGNORE_CASE, true},
    };
    CHECK(rows);
}

static void braces_and_case(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"*.{c,h}", "a.h", GLOB_BRACES, true},
        {"*.{c,h}", "a.o", GLOB_BRACES, false},
        {"*.{c,h}", "a.h", 0, false},
        {"{a,b{c,d}}x", "bdx", GLOB_BRACES, true},
        {"{a,}x", "x", GLOB_BRACES, true},
        {"{a", "{a", GLOB_BRACES, true},
        {"{**/x,y}", "a/b/x", GLOB_BRACES, true},
        {"ReadMe*", "README.md", GLOB_IGNORE_CASE, true},
        {"readme*", "README.md", 0, false},
    };
    CHECK(rows);
}

// Patterns made to explode end, without a match, in bounded time.
static void explosions_end(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(glob_match(sv_of("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), sv_of(text), 0));
    struct buf deep = {0};
    for (int i = 0; i < 1000; i++) {
        buf_adds(&deep, "{a,");
    }
    assert_false(glob_match(buf_sv(&deep), sv_of("b"), GLOB_BRACES));
    buf_finish(&deep);
}

// Tries everything.
static bool naive(const char *p, const char *s)
{
    if (*p == '*') {
        return naive(p + 1, s) || (*s && *s != '/' && naive(p, s + 1));
    }
    if (*p == '\0' || *s == '\0') {
        return *p == *s;
    }
    return (*p == *s || (*p == '?' && *s != '/')) && naive(p + 1, s + 1);
}

static void stars_give_up_no_match(void **state)
{
    (void)state;
    struct random r = {.state = 7};
    size_t matched = 0;
    for (int round = 0; round < 20000; round++) {
        char p[9] = {0};
        char s[9] = {0};
        for (size_t i = 0; i < 8; i++) {
            p[i] = "ab*?/*"[random_below(&r, 6)];
            s[i] = "abab/"[random_below(&r, 5)];
            p[i] = i > 0 && p[i] == '*' && p[i - 1] == '*' ? 'a' : p[i];
        }
        p[random_below(&r, 8) + 1] = '\0';
        s[random_below(&r, 8) + 1] = '\0';
        bool expected = naive(p, s);
        matched += expected;
        assert_int_equal(glob_match(sv_of(p), sv_of(s), 0), expected);
    }
    assert_true(matched > 100);
}

// Rules come with the folders that are searched, so they may be made to take long.
static void many_stars_are_quick(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 1000; i++) {
        assert_false(glob_match(sv_of("*a*a*a*a*a*a*a*a*b"), sv_of(text), 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stars_stay_in_their_component),
        cmocka_unit_test(double_stars_cross_components),
        cmocka_unit_test(classes),
        cmocka_unit_test(braces_and_case),
        cmocka_unit_test(explosions_end),
        cmocka_unit_test(stars_give_up_no_match),
        cmocka_unit_test(many_stars_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
