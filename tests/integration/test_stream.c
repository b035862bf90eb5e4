// Answers over HTTP from a server that does what servers do, and worse.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_fixture.h"
#include "llm/stream.h"
#include "net/http.h"
#include "sys/clock.h"
#include "toy_wire.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define UNTIL_CLOSE HEAD "Connection: close\r\n\r\n"

static struct fixture *server;
static struct http *http;
static char base[64];

static int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    server = fixture_start();
    snprintf(base, sizeof base, "http://127.0.0.1:%u", fixture_port(server));
    return http_create(&http, &(struct http_options){0}, NULL) ? 1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    http_destroy(http);
    fixture_stop(server);
    return 0;
}

/* -- asking -- */

struct outcome {
    struct buf text;  // of the deltas
    struct buf error; // "" = success
    struct llm_failure failure;
    unsigned starts;
    int64_t ms;
};

static void outcome_finish(struct outcome *o)
{
    buf_finish(&o->text);
    buf_finish(&o->error);
}

static void follow(struct outcome *o, struct llm_stream *s)
{
    struct llm_event event = {0};
    struct pi_error err = {0};
    int64_t begin = clock_mono_ms();
    while (event.type != LLM_DONE && event.type != LLM_ERROR) {
        int wait_ms = -1;
        enum pi_status status = s->provider->next(s, &event, &wait_ms, &err);
        assert_true(clock_mono_ms() - begin < 30000);
        if (status == PI_MORE) {
            http_wait(http, -1, wait_ms < 0 || wait_ms > 1000 ? 1000 : wait_ms);
            continue;
        }
        assert_int_equal(status, PI_OK);
        o->starts += event.type == LLM_START;
        if (event.type == LLM_TEXT_DELTA) {
            buf_addsv(&o->text, event.delta);
        }
    }
    o->ms = clock_mono_ms() - begin;
    o->failure = s->failure;
    if (event.type == LLM_ERROR) {
        assert_int_equal(s->message->stop_reason, STOP_ERROR);
        buf_adds(&o->error, s->message->error_message);
        assert_true(o->error.len > 0);
    }
    assert_int_equal(s->provider->next(s, &event, &(int){0}, &err), PI_CLOSED);
}

static struct outcome ask_with(const char *key, int64_t idle_ms)
{
    struct outcome o = {0};
    const struct model model = {
        .id = "toy-1", .api = "toy", .provider = "toy", .base_url = base};
    const struct llm_request request = {
        .http = http, .api_key = key, .idle_timeout_ms = idle_ms};
    struct llm_stream *s = NULL;
    struct pi_error err = {0};
    if (stream_open_wire(&s, &wire_toy, &model, &request, &err)) {
        buf_adds(&o.error, err.message);
        return o;
    }
    follow(&o, s);
    s->provider->close(s);
    return o;
}

static struct outcome ask_for(const char *bytes, enum fixture_end end)
{
    struct fixture_reply reply = {.bytes = sv_of(bytes), .end = end};
    fixture_replies(server, &reply, 1);
    return ask_with(NULL, 5000);
}

static void expect_text(struct outcome o, const char *text)
{
    assert_string_equal(buf_cstr(&o.error), "");
    assert_string_equal(buf_cstr(&o.text), text);
    assert_int_equal(o.starts, 1);
    outcome_finish(&o);
}

static void expect_error(struct outcome o, int kind, const char *words)
{
    if (!strstr(buf_cstr(&o.error), words)) {
        fail_msg("\"%s\" is not in \"%s\"", words, buf_cstr(&o.error));
    }
    assert_int_equal(o.failure.kind, kind);
    outcome_finish(&o);
}

/* -- tests -- */

static void reads_an_answer(void **state)
{
    (void)state;
    expect_text(ask_for(CHUNKED "12\r\ndata: text Hello\n\n\r\n"
                                "5\r\ndata:\r\n"
                                "e\r\n text , you\n\nd\r\n"
                                "9\r\nata: end\n\r\n"
                                "1\r\n\n\r\n"
                                "0\r\n\r\n",
                        FIXTURE_KEEP),
                "Hello, you");
    struct buf request = {0};
    fixture_last_request(server, &request);
    assert_non_null(strstr(buf_cstr(&request), "POST /answer HTTP/1.1\r\n"));
    assert_non_null(strstr(buf_cstr(&request), "\r\nUser-Agent: pi/" PI_VERSION "\r\n"));
    assert_non_null(strstr(buf_cstr(&request), "\r\nAccept-Encoding: identity\r\n"));
    assert_non_null(strstr(buf_cstr(&request), "\r\n\r\n{\"messages\":0}"));
    assert_null(strstr(buf_cstr(&request), "Expect"));
    buf_finish(&request);
}

static void answers_cut_cleanly_are_no_success(void **state)
{
    (void)state;
    expect_error(ask_for(UNTIL_CLOSE "data: text half\n\n", FIXTURE_CLOSE), FAILURE_RETRY,
                 "127.0.0.1 ended the answer before it was complete");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_answer),
        cmocka_unit_test(answers_cut_cleanly_are_no_success),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
