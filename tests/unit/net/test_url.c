#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/url.h"

static void parts_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text, *scheme, *host, *port, *path;
    } rows[] = {
        {"http://a", "http", "a", "", ""},
        {"https://api.example.org/v1/x?key=1#f", "https", "api.example.org", "", "/v1/x"},
        {"http://localhost:11434/v1", "http", "localhost", "11434", "/v1"},
        {"http://u:p@h:1/@x", "http", "h", "1", "/@x"},
        {"http://u@v@h/", "http", "h", "", "/"},
        {"http://[::1]:80/a", "http", "::1", "80", "/a"},
        {"http://[fe80::1%25eth0]", "http", "fe80::1%25eth0", "", ""},
        {"http://h?x", "http", "h", "", ""},
        {"http://h#x", "http", "h", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct url u;
        assert_true(url_parse(&u, sv_of(rows[i].text)));
        assert_true(sv_eqs(u.scheme, rows[i].scheme));
        assert_true(sv_eqs(u.host, rows[i].host));
        assert_true(sv_eqs(u.port, rows[i].port));
        assert_true(sv_eqs(u.path, rows[i].path));
    }
    static const char *const bad[] = {"",         "a",        "://a",
                                      "http:/a",  "http://",  "http:///",
                                      "http://@", "http://[", "http://?"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct url u;
        assert_false(url_parse(&u, sv_of(bad[i])));
    }
    struct url u;
    assert_false(url_parse(&u, (struct sv){0}));
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"https://u:p@h:8/v1?key=sk#x", "https://h:8/v1"},
        {"http://[::1]/", "http://[::1]/"},
        {"sk-secret", "(not a URL)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf out = {0};
        url_show(&out, sv_of(rows[i][0]));
        assert_string_equal(buf_cstr(&out), rows[i][1]);
        buf_finish(&out);
    }
}

static void hosts_are_near_or_far(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        enum url_reach reach;
    } rows[] = {
        {"localhost", URL_LOOPBACK},
        {"LocalHost.", URL_LOOPBACK},
        {"a.localhost", URL_LOOPBACK},
        {"127.0.0.1", URL_LOOPBACK},
        {"127.9.9.9", URL_LOOPBACK},
        {"0.0.0.0", URL_LOOPBACK},
        {"::1", URL_LOOPBACK},
        {"::ffff:127.0.0.1", URL_LOOPBACK},
        {"10.1.2.3", URL_PRIVATE},
        {"172.16.0.1", URL_PRIVATE},
        {"172.31.255.255", URL_PRIVATE},
        {"172.32.0.1", URL_PUBLIC},
        {"192.168.1.1", URL_PRIVATE},
        {"192.169.1.1", URL_PUBLIC},
        {"169.254.1.1", URL_PRIVATE},
        {"100.64.0.1", URL_PRIVATE},
        {"100.128.0.1", URL_PUBLIC},
        {"fd12::1", URL_PRIVATE},
        {"fe80::1%eth0", URL_PRIVATE},
        {"2001:db8::1", URL_PUBLIC},
        {"::ffff:10.0.0.1", URL_PRIVATE},
        {"gpu-box", URL_PRIVATE},
        {"gpu.local", URL_PRIVATE},
        {"gpu.LAN", URL_PRIVATE},
        {"api.example.org", URL_PUBLIC},
        {"mylocalhost.org", URL_PUBLIC},
        {"8.8.8.8", URL_PUBLIC},
        {"127.0.0.1.example.org", URL_PUBLIC},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(url_reach(sv_of(rows[i].host)), rows[i].reach);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(hosts_are_near_or_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
