// Every allocation of an answer over HTTP fails once. The server is a process of its own,
// so that none of its allocations is meant.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http_fixture.h"
#include "llm/stream.h"
#include "net/http.h"
#include "oom.h"
#include "toy_wire.h"

// wrap: malloc calloc realloc strdup

static pid_t child;
static char base[64];
static int replies_fd;

static const char *const replies[] = {
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    "data: text a\n\ndata: text b\n\ndata: over\n\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"answer\":\"ab\"}",
    "HTTP/1.1 429 Slow\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"key "
    "sk-secret "
    "\",\"type\":\"t\"}}",
    "HTTP/1.1 502 Oh\r\nConnection: close\r\n\r\n<title>Bad Gateway</title>",
};
enum { REPLIES = sizeof replies / sizeof *replies };

// Takes the number of the reply to give from now on, and acknowledges it.
static void serve(int in, int out)
{
    struct fixture *f = fixture_start();
    unsigned port = fixture_port(f);
    unsigned char which;
    if (write(out, &port, sizeof port) != sizeof port) {
        _exit(1);
    }
    while (read(in, &which, 1) == 1) {
        struct fixture_reply reply = {.bytes = sv_of(replies[which]),
                                      .end = FIXTURE_CLOSE};
        fixture_replies(f, &reply, 1);
        if (write(out, &which, 1) != 1) {
            break;
        }
    }
    fixture_stop(f);
    _exit(0);
}

static int answers_fd;

static int setup(void **state)
{
    (void)state;
    int in[2];
    int out[2];
    unsigned port;
    signal(SIGPIPE, SIG_IGN);
    if (pipe(in) || pipe(out)) {
        return 1;
    }
    child = fork();
    if (child == 0) {
        close(in[1]);
        serve(in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    replies_fd = in[1];
    answers_fd = out[0];
    if (read(answers_fd, &port, sizeof port) != sizeof port) {
        return 1;
    }
    snprintf(base, sizeof base, "http://127.0.0.1:%u", port);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(replies_fd);
    close(answers_fd);
    return waitpid(child, NULL, 0) == child ? 0 : 1;
}

static void choose(unsigned char which)
{
    assert_int_equal(write(replies_fd, &which, 1), 1);
    assert_int_equal(read(answers_fd, &which, 1), 1);
}

// PI_OK: an answer or an error came to its end in order.
static enum pi_status ask(struct llm_stream **s, struct http *h, struct llm_event *event)
{
    struct pi_error err = {0};
    const struct model model = {
        .id = "toy-1", .api = "toy", .provider = "toy", .base_url = base};
    const struct llm_request request = {
        .http = h, .api_key = "sk-secret", .idle_timeout_ms = 5000};
    enum pi_status status = stream_open_wire(s, &wire_toy, &model, &request, &err);
    while (!status && event->type != LLM_DONE && event->type != LLM_ERROR) {
        int wait_ms = -1;
        status = (*s)->provider->next(*s, event, &wait_ms, &err);
        if (status == PI_MORE) {
            http_wait(h, -1, wait_ms < 0 ? 1000 : wait_ms);
            status = PI_OK;
        }
    }
    assert_true(!status || err.message[0]);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (unsigned char which = 0; which < REPLIES; which++) {
        choose(which);
        bool failed = true;
        size_t n = 1;
        for (; failed; n++) {
            struct http *h = NULL;
            struct llm_stream *s = NULL;
            struct llm_event event = {0};
            oom_start(n);
            enum pi_status status = http_create(&h, &(struct http_options){0}, NULL);
            status = status ? status : ask(&s, h, &event);
            failed = oom_stop();
            assert_true(failed || !status);
            if (!status && event.type == LLM_DONE) {
                assert_string_equal(buf_cstr(&s->message->content.blocks[0].text), "ab");
            }
            if (s) {
                s->provider->close(s);
            }
            http_destroy(h);
        }
        print_message("reply %d: %zu allocations\n", which, n - 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
