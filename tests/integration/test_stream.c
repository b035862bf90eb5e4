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
        if (event.type == LLM_START) {
            // What is shown of the beginning holds nothing that comes again later.
            assert_int_equal(s->message->content.len, 0);
            assert_null(s->message->error_message);
            o->starts++;
        }
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

static struct outcome ask_once(struct fixture_reply reply, int64_t idle_ms)
{
    fixture_replies(server, &reply, 1);
    struct outcome o = ask_with(NULL, idle_ms);
    fixture_replies(server, NULL, 0);
    return o;
}

static struct outcome ask_for(const char *bytes, enum fixture_end end)
{
    return ask_once((struct fixture_reply){.bytes = sv_of(bytes), .end = end}, 5000);
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

static void every_split_gives_the_same_answer(void **state)
{
    (void)state;
    static const char bytes[] = UNTIL_CLOSE "data: text \xc3\xa4\xf0\x9f\x91\x8d.\r\n"
                                            "data: x\r\n\r\n: hi\rdata: end\n\n\n";
    for (size_t split = 1; split < sizeof bytes; split++) {
        struct fixture_reply reply = {.bytes = sv_of(bytes),
                                      .split = split,
                                      .between_us = 50,
                                      .end = FIXTURE_CLOSE};
        expect_text(ask_once(reply, 5000), "\xc3\xa4\xf0\x9f\x91\x8d.\nx");
    }
}

static void connections_are_used_again(void **state)
{
    (void)state;
    struct fixture_reply reply = {.bytes =
                                      sv_of(CHUNKED "b\r\ndata: end\n\n\r\n0\r\n\r\n")};
    http_destroy(http);
    assert_int_equal(http_create(&http, &(struct http_options){0}, NULL), PI_OK);
    fixture_replies(server, &reply, 1);
    for (int i = 0; i < 5; i++) {
        expect_text(ask_with(NULL, 5000), "");
    }
    assert_int_equal(fixture_requests(server), 5);
    assert_int_equal(fixture_connections(server), 1);
}

// The server closes an idle connection, as all of them do after a while.
static void a_dead_connection_is_no_failure(void **state)
{
    (void)state;
    struct fixture_reply reply = {
        .bytes = sv_of(CHUNKED "b\r\ndata: end\n\n\r\n0\r\n\r\n"), .end = FIXTURE_CLOSE};
    fixture_replies(server, &reply, 1);
    for (int i = 0; i < 5; i++) {
        expect_text(ask_with(NULL, 5000), "");
    }
    reply.end = FIXTURE_RESET;
    fixture_replies(server, &reply, 1);
    for (int i = 0; i < 5; i++) {
        expect_text(ask_with(NULL, 5000), "");
    }
}

// It closes just when the next request comes.
static void a_connection_that_dies_at_its_second_use_is_no_failure(void **state)
{
    (void)state;
    static const enum fixture_end ends[] = {FIXTURE_CLOSE, FIXTURE_RESET};
    for (size_t i = 0; i < 2; i++) {
        const char *answer = CHUNKED "b\r\ndata: end\n\n\r\n0\r\n\r\n";
        struct fixture_reply replies[] = {
            {.bytes = sv_of(answer)},
            {.end = ends[i]},
            {.bytes = sv_of(answer)},
        };
        fixture_replies(server, replies, 3);
        expect_text(ask_with(NULL, 5000), "");
        expect_text(ask_with(NULL, 5000), "");
        assert_int_equal(fixture_requests(server), 3);
    }
}

static const struct {
    const char *bytes;
    enum fixture_end end;
    int kind;
    const char *words;
} breaks[] = {
    {"", FIXTURE_CLOSE, FAILURE_RETRY, "closed the connection without an answer"},
    {"", FIXTURE_RESET, FAILURE_RETRY, "127.0.0.1"},
    {CHUNKED "f\r\ndata: text a", FIXTURE_CLOSE, FAILURE_RETRY,
     "cut in the middle of the answer"},
    {CHUNKED "f\r\ndata: text abc\n", FIXTURE_RESET, FAILURE_RETRY, "127.0.0.1"},
    {CHUNKED "10\r\ndata: text abc\n\n\r\n0\r\n\r\n", FIXTURE_KEEP, FAILURE_RETRY,
     "ended the answer before it was complete"},
    {UNTIL_CLOSE "data: text abc\n\ndata: en", FIXTURE_CLOSE, FAILURE_RETRY,
     "ended the answer before it was complete"},
    {UNTIL_CLOSE, FIXTURE_CLOSE, FAILURE_RETRY, "sent an empty answer"},
    {UNTIL_CLOSE "\r\n\n  ", FIXTURE_CLOSE, FAILURE_RETRY, "sent an empty answer"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", FIXTURE_KEEP, FAILURE_RETRY,
     "sent an empty answer"},
    {"HTTP/1.1 204 No Content\r\n\r\n", FIXTURE_KEEP, FAILURE_RETRY,
     "sent an empty answer"},
    {HEAD "Content-Length: 99\r\n\r\ndata: text abc\n\n", FIXTURE_CLOSE, FAILURE_RETRY,
     "cut in the middle"},
    {UNTIL_CLOSE "data: fail 529 Overloaded\n\n", FIXTURE_STALL, FAILURE_RETRY,
     "answered with an error: Overloaded"},
    {UNTIL_CLOSE "data: fail 400 \n\n", FIXTURE_STALL, FAILURE_FATAL,
     "answered with an error: (no words)"},
    {UNTIL_CLOSE "data: text abc\n\ndata: fail 400 bad {\n\n", FIXTURE_STALL,
     FAILURE_FATAL, "answered with an error: bad {"},
    {UNTIL_CLOSE "data: fail 0 {\"error\":{\"message\":\"prompt is too long: 9 tokens\"}}"
                 "\n\n",
     FIXTURE_CLOSE, FAILURE_OVERFLOW, "start a new one"},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: "
     "close\r\n\r\n<!DOCTYPE "
     "html><html><head><title>Log in\n to Wi-Fi</title></head>secret page",
     FIXTURE_CLOSE, FAILURE_RETRY,
     "a page of HTML instead of an answer, titled \"Log in to Wi-Fi\""},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n  <p>", FIXTURE_CLOSE, FAILURE_RETRY,
     "a page of HTML instead of an answer"},
    {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
     "{\"error\":{\"message\":\"no such model\",\"type\":\"invalid_request_error\"}}",
     FIXTURE_CLOSE, FAILURE_FATAL, "answered with an error: no such model"},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
     "\n\n{\"error\":\"busy\"}",
     FIXTURE_CLOSE, FAILURE_RETRY, "answered with an error: busy"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"error\":{\"code\":502,"
     "\"message\":\"upstream\"}}",
     FIXTURE_CLOSE, FAILURE_RETRY, "answered with an error: upstream"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"error\":{\"code\":", FIXTURE_CLOSE,
     FAILURE_RETRY, "JSON that is cut off"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"status\":\"up\"}", FIXTURE_CLOSE,
     FAILURE_FATAL, "JSON that is no answer of a model: up"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nIt works!", FIXTURE_CLOSE,
     FAILURE_RETRY, "It works!"},
    {"not HTTP at all\r\n\r\n", FIXTURE_CLOSE, FAILURE_FATAL, "does not speak HTTP"},
    {"HTTP/1.1 301 Moved\r\nLocation: "
     "https://user:pw@example.org/v2?key=sk-secret\r\n"
     "Content-Length: 0\r\n\r\n",
     FIXTURE_KEEP, FAILURE_FATAL,
     "answered 301: moved to https://example.org/v2; correct the base URL"},
    {"HTTP/1.1 302 Found\r\nLocation: /login?a=b\r\nContent-Length: 0\r\n\r\n",
     FIXTURE_KEEP, FAILURE_FATAL, "moved to /login; correct"},
    {"HTTP/1.1 308 Moved\r\nContent-Length: 0\r\n\r\n", FIXTURE_KEEP, FAILURE_FATAL,
     "answered 308"},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: "
     "gzip\r\n"
     "Connection: close\r\n\r\nthis is not gzip",
     FIXTURE_CLOSE, FAILURE_RETRY, "compressed answer of 127.0.0.1 is damaged"},
};

static void what_breaks_is_told_and_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        print_message("%.60s...\n", breaks[i].bytes);
        expect_error(ask_for(breaks[i].bytes, breaks[i].end), breaks[i].kind,
                     breaks[i].words);
    }
}

static void statuses_are_judged(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *headers, *body;
        int kind;
        int64_t retry_after_ms;
        const char *words;
    } rows[] = {
        {400, "", "{\"error\":\"bare string\"}", FAILURE_FATAL, 0, "400: bare string"},
        {400, "", "", FAILURE_OVERFLOW, 0, "400: (no words)"},
        {401, "", "{\"message\":\"who?\"}", FAILURE_FATAL, 0, "401: who?"},
        {403, "", "<html><title>403 Forbidden</title>", FAILURE_FATAL, 0,
         "titled \"403 Forbidden\""},
        {404, "", "404 page not found", FAILURE_FATAL, 0, "404: 404 page not found"},
        {408, "", "", FAILURE_RETRY, 0, "408"},
        {413, "", "", FAILURE_OVERFLOW, 0, "context window"},
        {422, "", "{\"detail\":[{\"loc\":[1],\"msg\":\"field required\"}]}",
         FAILURE_FATAL, 0, "422: field required"},
        {429, "Retry-After: 7\r\n", "{}", FAILURE_RETRY, 7000, "429"},
        {429, "Retry-After: 7\r\nretry-after-ms: 123.4\r\n", "{}", FAILURE_RETRY, 124,
         "429"},
        {429, "x-should-retry: false\r\n", "{}", FAILURE_FATAL, 0, "429"},
        {429, "", "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}",
         FAILURE_FATAL, 0, "429: pay"},
        {429, "", "{\"error\":{\"message\":\"Please try again in 1.5s\"}}", FAILURE_RETRY,
         1500, "try again"},
        {500, "", "[{\"error\":{\"message\":\"in an array\"}}]", FAILURE_RETRY, 0,
         "500: in an array"},
        {501, "x-should-retry: true\r\n", "", FAILURE_RETRY, 0, "501"},
        {529, "",
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
         "\"message\":\"Overloaded\"}}",
         FAILURE_RETRY, 0, "529: Overloaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reply[1024];
        snprintf(reply, sizeof reply, "HTTP/1.1 %d Oh\r\n%sContent-Length: %zu\r\n\r\n%s",
                 rows[i].status, rows[i].headers, strlen(rows[i].body), rows[i].body);
        struct outcome o = ask_for(reply, FIXTURE_KEEP);
        assert_int_equal(o.failure.status, rows[i].status);
        assert_int_equal(o.failure.retry_after_ms, rows[i].retry_after_ms);
        expect_error(o, rows[i].kind, rows[i].words);
    }
}

static void an_error_without_end_is_told_in_time(void **state)
{
    (void)state;
    struct fixture_reply reply = {.bytes = sv_of("HTTP/1.1 500 Oh\r\n\r\n0123456789"),
                                  .end = FIXTURE_STALL};
    struct buf large = {0};
    buf_adds(&large, "HTTP/1.1 500 Oh\r\n\r\n");
    for (int i = 0; i < 20000; i++) {
        buf_adds(&large, "large ");
    }
    expect_error(ask_once(reply, 300), FAILURE_RETRY, "answered 500: 0123456789");
    reply.bytes = buf_sv(&large);
    expect_error(ask_once(reply, 300), FAILURE_RETRY, "answered 500: large large");
    buf_finish(&large);
}

static void whole_answers_are_taken_too(void **state)
{
    (void)state;
    expect_text(
        ask_for("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: "
                "close\r\n\r\n\n\n{\"answer\":\"all at once\"}",
                FIXTURE_CLOSE),
        "all at once");
}

static void the_type_may_be_missing_or_wrong(void **state)
{
    (void)state;
    expect_text(ask_for("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\xef\xbb\xbf"
                        "data: text a\n\ndata: end\n\n",
                        FIXTURE_CLOSE),
                "a");
    expect_text(ask_for("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close"
                        "\r\n\r\n: hello\n\nevent: x\ndata: text a\n\ndata: end\n",
                        FIXTURE_CLOSE),
                "a");
}

static void compressed_answers_are_read(void **state)
{
    (void)state;
    // "data: text zip\n\ndata: end\n\n"
    static const unsigned char gzip[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b,
        0x49, 0x2c, 0x49, 0xb4, 0x52, 0x28, 0x49, 0xad, 0x28, 0x51, 0xa8,
        0xca, 0x2c, 0xe0, 0xe2, 0x4a, 0x01, 0xf3, 0x53, 0xf3, 0x52, 0xb8,
        0xb8, 0x00, 0x4b, 0x4c, 0xbc, 0x63, 0x1b, 0x00, 0x00, 0x00};
    struct buf bytes = {0};
    buf_addf(&bytes, HEAD "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
             sizeof gzip);
    buf_add(&bytes, gzip, sizeof gzip);
    struct fixture_reply reply = {.bytes = buf_sv(&bytes), .split = 3, .between_us = 200};
    expect_text(ask_once(reply, 5000), "zip");
    buf_finish(&bytes);
}

static void interim_responses_are_skipped(void **state)
{
    (void)state;
    expect_text(ask_for("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                        "HTTP/1.1 100 Continue\r\n\r\n" UNTIL_CLOSE
                        "data: text a\n\ndata: end\n\n",
                        FIXTURE_CLOSE),
                "a");
}

static void an_answer_is_complete_though_nobody_closes(void **state)
{
    (void)state;
    struct outcome o =
        ask_for(UNTIL_CLOSE "data: text a\n\ndata: end\n\n", FIXTURE_STALL);
    assert_in_range(o.ms, 1500, 4000);
    expect_text(o, "a");
    o = ask_for(UNTIL_CLOSE "data: text a\n\ndata: over\n\n", FIXTURE_STALL);
    assert_in_range(o.ms, 0, 1000);
    expect_text(o, "a");
    o = ask_for(UNTIL_CLOSE "data: text a\n\ndata: end\n\n", FIXTURE_RESET);
    expect_text(o, "a");
}

static void silence_has_a_limit_and_any_byte_counts(void **state)
{
    (void)state;
    struct fixture_reply reply = {.bytes = sv_of(UNTIL_CLOSE "data: text a\n\n"),
                                  .end = FIXTURE_STALL};
    struct outcome o = ask_once(reply, 300);
    assert_in_range(o.ms, 300, 1500);
    expect_error(o, FAILURE_RETRY, "127.0.0.1 sent nothing for 1 seconds");
    reply = (struct fixture_reply){.bytes = sv_of(""), .end = FIXTURE_STALL};
    o = ask_once(reply, 300); // before the first byte
    assert_in_range(o.ms, 300, 1500);
    expect_error(o, FAILURE_RETRY, "sent nothing");
    // Comments come more often than the limit, and the answer much later.
    reply.bytes = sv_of(UNTIL_CLOSE ":\n:\n:\n:\ndata: end\n\n");
    reply.split = 14;
    reply.between_us = 150 * 1000;
    reply.end = FIXTURE_CLOSE;
    o = ask_once(reply, 500);
    assert_in_range(o.ms, 800, 5000);
    expect_text(o, "");
}

static void headers_have_a_limit(void **state)
{
    (void)state;
    struct fixture_reply reply = {.bytes = sv_of("HTTP/1.1 200 OK\r\n"),
                                  .again =
                                      sv_of("X-More: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")};
    expect_error(ask_once(reply, 5000), FAILURE_FATAL,
                 "127.0.0.1 sent more than 256 KiB of headers");
    reply.bytes = sv_of("HTTP/1.1 200 OK\r\nX-One: ");
    reply.again = sv_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect_error(ask_once(reply, 5000), FAILURE_FATAL, "header that is too long");
}

static void an_event_has_a_limit(void **state)
{
    (void)state;
    const char head[] = UNTIL_CLOSE "data: text ";
    struct buf large = {0};
    buf_adds(&large, head);
    for (size_t i = 0; i < 50 * 1024 * 1024 / 32; i++) {
        buf_adds(&large, "01234567890123456789012345678901");
    }
    size_t text = large.len - strlen(head);
    size_t open = large.len;
    buf_adds(&large, "\n\ndata: end\n\n");
    struct fixture_reply reply = {.bytes = buf_sv(&large), .end = FIXTURE_CLOSE};
    struct outcome o = ask_once(reply, 5000);
    assert_string_equal(buf_cstr(&o.error), "");
    assert_int_equal(o.text.len, text);
    outcome_finish(&o);
    reply.again = sv_make(large.data + strlen(head), text);
    reply.bytes.n = open;
    expect_error(ask_once(reply, 5000), FAILURE_FATAL, "an event of more than 64 MiB");
    buf_finish(&large);
}

static int64_t time_events(size_t n)
{
    struct buf bytes = {0};
    buf_adds(&bytes, UNTIL_CLOSE);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&bytes, "event: x\ndata: text 0123456789\n\n");
    }
    buf_adds(&bytes, "data: over\n\n");
    struct fixture_reply reply = {.bytes = buf_sv(&bytes), .end = FIXTURE_CLOSE};
    struct outcome o = ask_once(reply, 5000);
    assert_string_equal(buf_cstr(&o.error), "");
    assert_int_equal(o.text.len, 10 * n);
    int64_t ms = o.ms;
    outcome_finish(&o);
    buf_finish(&bytes);
    return ms;
}

static void time_grows_with_the_number_of_events_only(void **state)
{
    (void)state;
    int64_t some = time_events(20000);
    int64_t many = time_events(200000);
    print_message("20 000 events in %d ms, 200 000 in %d ms\n", (int)some, (int)many);
    assert_true(many < 30 * (some + 20));
}

static void a_key_cannot_add_headers(void **state)
{
    (void)state;
    fixture_replies(server, NULL, 0);
    struct outcome o = ask_with("sk-very\nX-Evil: 1", 5000);
    assert_null(strstr(buf_cstr(&o.error), "sk-very"));
    expect_error(o, FAILURE_FATAL, "the key for toy has a line break");
    assert_int_equal(fixture_requests(server), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_answer),
        cmocka_unit_test(answers_cut_cleanly_are_no_success),
        cmocka_unit_test(every_split_gives_the_same_answer),
        cmocka_unit_test(connections_are_used_again),
        cmocka_unit_test(a_dead_connection_is_no_failure),
        cmocka_unit_test(a_connection_that_dies_at_its_second_use_is_no_failure),
        cmocka_unit_test(what_breaks_is_told_and_judged),
        cmocka_unit_test(statuses_are_judged),
        cmocka_unit_test(an_error_without_end_is_told_in_time),
        cmocka_unit_test(whole_answers_are_taken_too),
        cmocka_unit_test(the_type_may_be_missing_or_wrong),
        cmocka_unit_test(compressed_answers_are_read),
        cmocka_unit_test(interim_responses_are_skipped),
        cmocka_unit_test(an_answer_is_complete_though_nobody_closes),
        cmocka_unit_test(silence_has_a_limit_and_any_byte_counts),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(an_event_has_a_limit),
        cmocka_unit_test(time_grows_with_the_number_of_events_only),
        cmocka_unit_test(a_key_cannot_add_headers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
