#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http.h"

static void check(const char *got, const char *want)
{
    if (want) {
        assert_non_null(got);
        assert_string_equal(got, want);
    } else {
        assert_null(got);
    }
}

static void expect(const char *const *vars, const struct http_options *want)
{
    struct env e;
    assert_int_equal(env_copy(&e, vars, NULL), PI_OK);
    struct http_options got = http_options_of(&e);
    check(got.https_proxy, want->https_proxy);
    check(got.http_proxy, want->http_proxy);
    check(got.no_proxy, want->no_proxy);
    check(got.ca_file, want->ca_file);
    env_finish(&e);
}

static void the_environment_says_how_to_reach_the_world(void **state)
{
    (void)state;
    expect((const char *const[]){"PATH=/bin", NULL}, &(struct http_options){0});
    expect((const char *const[]){"HTTPS_PROXY=a", "HTTP_PROXY=b", "NO_PROXY=c",
                                 "SSL_CERT_FILE=d", "CURL_CA_BUNDLE=e", NULL},
           &(struct http_options){"a", "b", "c", "d"});
    expect((const char *const[]){"HTTPS_PROXY=a", "https_proxy=b", "no_proxy=x",
                                 "NO_PROXY=y", "CURL_CA_BUNDLE=e", NULL},
           &(struct http_options){"b", NULL, "x", "e"});
    expect((const char *const[]){"ALL_PROXY=a", NULL},
           &(struct http_options){"a", "a", NULL, NULL});
    // Empty means none.
    expect((const char *const[]){"ALL_PROXY=a", "https_proxy=", "SSL_CERT_FILE=", NULL},
           &(struct http_options){NULL, "a", NULL, NULL});
    // A web server's client could set this one with a header.
    expect((const char *const[]){"HTTP_PROXY=a", "REQUEST_METHOD=GET", NULL},
           &(struct http_options){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_says_how_to_reach_the_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
