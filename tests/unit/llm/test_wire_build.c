#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/wire_build.h"

static void expect_url(enum wire_version version, const char *base, const char *path,
                       const char *want)
{
    struct buf out = {0};
    struct pi_error err = {0};
    enum pi_status status = wire_url(&out, base, version, path, &err);
    assert_int_equal(status, want ? PI_OK : PI_INVALID);
    assert_string_equal(buf_cstr(&out), want ? want : "");
    assert_true(want || err.message[0]);
    buf_finish(&out);
}

static void a_base_may_have_the_version_or_not(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"http://localhost:11434", "http://localhost:11434/v1/c"},
        {"http://localhost:11434/", "http://localhost:11434/v1/c"},
        {"http://localhost:11434/v1", "http://localhost:11434/v1/c"},
        {"http://localhost:11434/v1//", "http://localhost:11434/v1/c"},
        {"https://x.test/api/paas/v4", "https://x.test/api/paas/v4/c"},
        {"https://x.test/v1/c", "https://x.test/v1/c"},
        {"HTTPS://x.test", "HTTPS://x.test/v1/c"},
        {"https://x.test/o/v1?api-version=1", "https://x.test/o/v1/c?api-version=1"},
        {"https://x.test?a=b#c", "https://x.test/v1/c?a=b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_url(WIRE_VERSION_ALONE, rows[i][0], "/c", rows[i][1]);
    }
    expect_url(WIRE_VERSION_ALWAYS, "https://x.test/anthropic", "/messages",
               "https://x.test/anthropic/v1/messages");
    expect_url(WIRE_VERSION_ALWAYS, "https://x.test/v1", "/messages",
               "https://x.test/v1/messages");
    expect_url(WIRE_VERSION_ALWAYS, "https://x.test/v1/messages/", "/messages",
               "https://x.test/v1/messages");
}

static void a_base_must_be_an_address(void **state)
{
    (void)state;
    static const char *const rows[] = {NULL,       "",           "localhost:80",
                                       "http://",  "https:///",  "ftp://x.test",
                                       "http://?", "http://a b", "http://a\nb"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_url(WIRE_VERSION_ALONE, rows[i], "/c", NULL);
    }
}

static void hosts_are_compared_by_whole_names(void **state)
{
    (void)state;
    assert_true(wire_is_host("https://z.test/x", "z.test"));
    assert_true(wire_is_host("https://api.Z.test:80", "z.test"));
    assert_true(wire_is_host("http://z.test?q", "z.test"));
    assert_false(wire_is_host("https://xyz.test/", "z.test"));
    assert_false(wire_is_host("https://z.test.evil.test/", "z.test"));
    assert_false(wire_is_host("https://evil.test/z.test", "z.test"));
    assert_false(wire_is_host("z.test", "z.test"));
    assert_false(wire_is_host(NULL, "z.test"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_base_may_have_the_version_or_not),
        cmocka_unit_test(a_base_must_be_an_address),
        cmocka_unit_test(hosts_are_compared_by_whole_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
