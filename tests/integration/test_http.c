// HTTP itself: proxies, limits, what goes over the wire.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_fixture.h"
#include "net/http.h"
#include "sys/clock.h"

static struct fixture *server;
static char base[64];

static int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    server = fixture_start();
    snprintf(base, sizeof base, "http://127.0.0.1:%u", fixture_port(server));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_stop(server);
    return 0;
}

static struct http *create(struct http_options options)
{
    struct http *h;
    assert_int_equal(http_create(&h, &options, NULL), PI_OK);
    return h;
}

static struct http_call *begin(struct http *h, struct http_request request)
{
    struct http_call *c = NULL;
    struct pi_error err = {0};
    if (http_open(&c, h, &request, &err)) {
        fail_msg("%s", err.message);
    }
    return c;
}

// Reads to the end; what http_read ended with.
static enum pi_status drain(struct http *h, struct http_call *c, struct buf *out,
                            struct pi_error *err)
{
    int64_t start = clock_mono_ms();
    for (;;) {
        enum pi_status status = http_read(c, out, err);
        if (status != PI_OK && status != PI_MORE) {
            return status;
        }
        assert_true(clock_mono_ms() - start < 20000);
        if (status == PI_MORE) {
            http_wait(h, -1, 1000);
        }
    }
}

// One exchange; the request as it came to the server.
static void exchange(struct http *h, const char *url, struct buf *seen)
{
    struct fixture_reply reply = {
        .bytes = sv_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Word: hi\r\n\r\nok"),
        .end = FIXTURE_CLOSE};
    fixture_replies(server, &reply, 1);
    struct http_call *c = begin(h, (struct http_request){.url = url, .body = sv_of("b")});
    struct buf body = {0};
    drain(h, c, &body, NULL);
    buf_finish(&body);
    http_close(c);
    fixture_last_request(server, seen);
}

static void a_response_has_status_headers_and_body(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    struct fixture_reply reply = {
        .bytes = sv_of("HTTP/1.1 418 Tea\r\nContent-Length: 2\r\nX-Word: hi\r\n\r\nok")};
    fixture_replies(server, &reply, 1);
    const char *const headers[] = {"X-Mine: 1", "user-agent: other", NULL};
    struct http_call *c =
        begin(h, (struct http_request){.url = base, .headers = headers});
    struct buf body = {0};
    assert_int_equal(http_status(c), 0);
    assert_int_equal(drain(h, c, &body, NULL), PI_CLOSED);
    assert_int_equal(http_status(c), 418);
    assert_string_equal(http_header(c, "x-word"), "hi");
    assert_null(http_header(c, "absent"));
    assert_string_equal(buf_cstr(&body), "ok");
    assert_int_equal(http_failure(c), HTTP_FINE);
    http_close(c);
    struct buf seen = {0};
    fixture_last_request(server, &seen);
    assert_int_equal(strncmp(buf_cstr(&seen), "GET / HTTP/1.1\r\n", 16), 0);
    assert_non_null(strstr(buf_cstr(&seen), "\r\nX-Mine: 1\r\n"));
    assert_non_null(strstr(buf_cstr(&seen), "\r\nuser-agent: other\r\n"));
    assert_null(strstr(buf_cstr(&seen), "pi/"));
    buf_finish(&seen);
    buf_finish(&body);
    http_destroy(h);
}

static void bad_requests_are_refused_without_their_secrets(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    struct http_call *c;
    struct pi_error err;
    static const char *const urls[] = {"", "ftp://h/?key=secret", "file:///etc/passwd",
                                       "secret", "http://"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct http_request request = {.url = urls[i]};
        assert_int_equal(http_open(&c, h, &request, &err), PI_INVALID);
        assert_null(strstr(err.message, "secret"));
    }
    static const char *const lines[] = {"X-Key: secret\nX-Evil: 1", "X-Key: secret\r",
                                        "X-Key: secret\x7f"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *const headers[] = {lines[i], NULL};
        struct http_request request = {.url = base, .headers = headers};
        assert_int_equal(http_open(&c, h, &request, &err), PI_INVALID);
        assert_null(strstr(err.message, "secret"));
        assert_non_null(strstr(err.message, "X-Key"));
    }
    // curl finds these itself.
    struct http_request request = {.url = "http://exa mple.org/"};
    struct buf body = {0};
    if (http_open(&c, h, &request, &err) == PI_OK) {
        assert_int_equal(drain(h, c, &body, &err), PI_IO);
        assert_int_equal(http_failure(c), HTTP_PERMANENT);
        http_close(c);
    }
    buf_finish(&body);
    http_destroy(h);
}

static void proxies_are_used_but_never_for_loopback(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){
        .http_proxy = base, .https_proxy = base, .no_proxy = "direct.invalid, .skip"});
    struct buf seen = {0};
    exchange(h, "http://model.invalid/v1?a=b", &seen);
    assert_int_equal(
        strncmp(buf_cstr(&seen), "POST http://model.invalid/v1?a=b HTTP/1.1\r\n", 43), 0);
    buf_clear(&seen);
    exchange(h, "https://model.invalid/v1", &seen);
    assert_int_equal(
        strncmp(buf_cstr(&seen), "CONNECT model.invalid:443 HTTP/1.1\r\n", 36), 0);
    buf_clear(&seen);
    exchange(h, base, &seen);
    assert_int_equal(strncmp(buf_cstr(&seen), "POST / HTTP/1.1\r\n", 17), 0);
    // Not through the proxy, and nobody else knows these names.
    buf_clear(&seen);
    exchange(h, "http://direct.invalid/", &seen);
    assert_int_equal(fixture_requests(server), 0);
    exchange(h, "http://a.skip/", &seen);
    assert_int_equal(fixture_requests(server), 0);
    buf_finish(&seen);
    http_destroy(h);
}

// The environment of the process belongs to the program around the agent.
static void the_process_environment_is_not_asked(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("no_proxy", "model.invalid", 1);
    struct http *h = create((struct http_options){.http_proxy = base});
    struct buf seen = {0};
    exchange(h, "http://model.invalid/", &seen);
    assert_int_equal(fixture_requests(server), 1);
    buf_finish(&seen);
    http_destroy(h);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
}

static void a_missing_ca_file_is_named(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){.ca_file = "/no/such/ca.pem"});
    char url[80];
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", fixture_port(server));
    struct http_call *c = begin(h, (struct http_request){.url = url});
    struct buf body = {0};
    struct pi_error err = {0};
    assert_int_equal(drain(h, c, &body, &err), PI_IO);
    assert_int_equal(http_failure(c), HTTP_PERMANENT);
    assert_non_null(strstr(err.message, "/no/such/ca.pem"));
    http_close(c);
    http_destroy(h);
}

static void who_does_not_read_makes_the_server_wait(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    struct buf block = {0};
    for (int i = 0; i < 1000; i++) {
        buf_adds(&block,
                 "0123456789012345678901234567890123456789012345678901234567890123");
    }
    struct fixture_reply reply = {
        .bytes = sv_of("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
        .again = buf_sv(&block)};
    fixture_replies(server, &reply, 1);
    struct http_call *c =
        begin(h, (struct http_request){.url = base, .idle_timeout_ms = 500});
    struct buf body = {0};
    int64_t end = clock_mono_ms() + 800;
    while (clock_mono_ms() < end) {
        http_wait(h, -1, 20);
    }
    // No timeout either: it is us who are slow.
    assert_int_equal(http_read(c, &body, NULL), PI_OK);
    assert_in_range(body.len, 1, 300 * 1024);
    size_t before = body.len;
    for (int i = 0; i < 200 && body.len < 4 * before; i++) {
        http_wait(h, -1, 100);
        http_read(c, &body, NULL);
    }
    assert_true(body.len >= 4 * before);
    http_close(c);
    fixture_replies(server, NULL, 0);
    buf_finish(&body);
    buf_finish(&block);
    http_destroy(h);
}

static void a_large_body_goes_out_while_the_server_is_slow(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    struct buf body = {0};
    struct buf seen = {0};
    for (int i = 0; i < 400000; i++) {
        buf_adds(&body, "0123456789");
    }
    struct fixture_reply reply = {
        .bytes = sv_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")};
    fixture_replies(server, &reply, 1);
    struct http_call *c =
        begin(h, (struct http_request){
                     .url = base, .body = buf_sv(&body), .idle_timeout_ms = 2000});
    assert_int_equal(drain(h, c, &seen, NULL), PI_CLOSED);
    assert_int_equal(http_status(c), 200);
    http_close(c);
    fixture_last_request(server, &seen);
    assert_true(sv_ends(buf_sv(&seen), buf_sv(&body)));
    buf_finish(&seen);
    buf_finish(&body);
    http_destroy(h);
}

static unsigned count_inheritable(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);
        n += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return n;
}

static void children_inherit_no_connection(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    struct fixture_reply reply = {.bytes = sv_of("HTTP/1.1 200 OK\r\n\r\nx"),
                                  .end = FIXTURE_STALL};
    fixture_replies(server, &reply, 1);
    unsigned before = count_inheritable();
    struct http_call *c = begin(h, (struct http_request){.url = base});
    for (int i = 0; i < 100 && http_status(c) == 0; i++) {
        http_wait(h, -1, 100);
    }
    assert_int_equal(http_status(c), 200);
    assert_int_equal(count_inheritable(), before);
    http_close(c);
    http_destroy(h);
}

static void waiting_sees_the_other_descriptor(void **state)
{
    (void)state;
    struct http *h = create((struct http_options){0});
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    int64_t start = clock_mono_ms();
    http_wait(h, pipe_fds[0], 5000); // without a call
    struct fixture_reply reply = {.end = FIXTURE_STALL};
    fixture_replies(server, &reply, 1);
    struct http_call *c = begin(h, (struct http_request){.url = base});
    for (int i = 0; i < 10; i++) {
        http_wait(h, pipe_fds[0], 5000);
    }
    assert_true(clock_mono_ms() - start < 2000);
    http_close(c);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    http_destroy(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_has_status_headers_and_body),
        cmocka_unit_test(bad_requests_are_refused_without_their_secrets),
        cmocka_unit_test(proxies_are_used_but_never_for_loopback),
        cmocka_unit_test(the_process_environment_is_not_asked),
        cmocka_unit_test(a_missing_ca_file_is_named),
        cmocka_unit_test(who_does_not_read_makes_the_server_wait),
        cmocka_unit_test(a_large_body_goes_out_while_the_server_is_slow),
        cmocka_unit_test(children_inherit_no_connection),
        cmocka_unit_test(waiting_sees_the_other_descriptor),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
