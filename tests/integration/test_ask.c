// The agent and a server that fails: retries, and aborts in every phase of a request.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "face.h"
#include "http_fixture.h"
#include "sys/clock.h"
#include "toy_wire.h"

// wrap: provider_find wire_find

#define UNTIL_CLOSE                                                                      \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define ANSWER(text) UNTIL_CLOSE "data: text " text "\n\ndata: over\n\n"
#define ERROR(status, more) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n" more "\r\n"

const struct wire *__wrap_wire_find(const char *api);
const struct provider *__wrap_provider_find(const char *api);

const struct wire *__wrap_wire_find(const char *api)
{
    (void)api;
    return &wire_toy;
}

const struct provider *__wrap_provider_find(const char *api)
{
    (void)api;
    return &provider_http;
}

// Takes the place of the C library's, for curl too: one name takes its time.
__attribute__((visibility("default"))) int getaddrinfo(const char *node,
                                                       const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strcmp(node, "slow.invalid") == 0) {
        sleep(2);
        return EAI_NONAME;
    }
    return real(node, service, hints, out);
}

// Sanitizers make reading the CA certificates slow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ABORT_MS = 2000 };
#else
enum { ABORT_MS = 500 }; // 200 and what a busy machine adds
#endif

static struct fixture *server;
static char good[64];
static char dir[] = "/tmp/pi-ask-XXXXXX";

static int setup(void **state)
{
    (void)state;
    server = fixture_start();
    snprintf(good, sizeof good, "http://127.0.0.1:%u", fixture_port(server));
    return mkdtemp(dir) ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    fixture_stop(server);
    return rmdir(dir);
}

/* -- support -- */

static void start(struct face *f, const char *base_url)
{
    struct pi_agent_options o = PI_AGENT_OPTIONS_INIT;
    struct pi_error err = {0};
    o.cwd = dir;
    o.agent_dir = dir;
    o.model = "replay:none";
    o.tools = "";
    o.no_context_files = true;
    o.no_session = true;
    if (!face_start(f, &o, &err)) {
        fail_msg("%s", err.message);
    }
    f->agent->settings.retry.base_delay_ms = 30;
    f->agent->model = (struct model){.id = "toy-1",
                                     .api = "toy",
                                     .provider = "toy",
                                     .base_url = base_url,
                                     .keyless = true};
}

static void prompt(struct face *f, enum pi_delivery delivery)
{
    struct pi_error err = {0};
    if (pi_agent_prompt(f->agent, "go", NULL, 0, delivery, &err)) {
        fail_msg("%s", err.message);
    }
}

static size_t wait_for(struct face *f, const char *type, size_t from)
{
    size_t at = face_wait(f, type, from, 10000);
    assert_true(at > 0);
    return at;
}

static void expect_types(struct face *f, const char *want)
{
    struct buf types = {0};
    face_types(f, &types);
    assert_string_equal(buf_cstr(&types), want);
    buf_finish(&types);
}

// The stop reason of the newest answer.
static const char *last_stop(struct face *f)
{
    const char *stop = "none";
    size_t at = 0;
    while ((at = face_wait(f, "message_end", at, 0)) > 0) {
        const struct json *m = json_get(face_event(f, at - 1), "message");
        const char *reason = json_get_str(m, "stopReason");
        stop = reason ? reason : stop;
    }
    return stop;
}

static void expect_good_answer(struct face *f)
{
    struct fixture_reply reply = {.bytes = sv_of(ANSWER("fine")), .end = FIXTURE_CLOSE};
    fixture_replies(server, &reply, 1);
    f->agent->model.base_url = good;
    size_t from = face_len(f);
    prompt(f, PI_DELIVER_PROMPT);
    wait_for(f, "agent_end", from);
    assert_string_equal(last_stop(f), "stop");
}

/* -- retries -- */

static void an_answer_comes_after_retries(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply replies[] = {
        {.bytes = sv_of(ERROR("529 Busy", ""))},
        {.bytes = sv_of(UNTIL_CLOSE "data: text half an ans"), .end = FIXTURE_RESET},
        {.bytes = sv_of(ANSWER("whole")), .end = FIXTURE_CLOSE},
    };
    fixture_replies(server, replies, 3);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", 0);
    expect_types(&f, "agent_start,turn_start,message_start,message_end,"
                     "message_start,message_end,turn_end,auto_retry_start,"
                     "turn_start,message_start,message_end,turn_end,auto_retry_start,"
                     "turn_start,message_start,message_update,message_end,turn_end,"
                     "auto_retry_end,agent_end");
    const struct json *e = face_event(&f, wait_for(&f, "auto_retry_start", 0) - 1);
    assert_int_equal(json_get_num(e, "attempt", 0), 1);
    assert_int_equal(json_get_num(e, "maxAttempts", 0), 3);
    assert_in_range(json_get_num(e, "delayMs", 0), 22, 30);
    assert_non_null(strstr(json_get_str(e, "errorMessage"), "529"));
    assert_non_null(strstr(json_get_str(e, "message"), "; trying again in 1 s (1 of 3)"));
    e = face_event(&f, wait_for(&f, "auto_retry_end", 0) - 1);
    assert_true(json_get_bool(e, "success", false));
    assert_int_equal(json_get_num(e, "attempt", 0), 2);
    // What failed is not in the request: the prompt alone.
    struct buf request = {0};
    fixture_last_request(server, &request);
    assert_non_null(strstr(buf_cstr(&request), "{\"messages\":1}"));
    buf_finish(&request);
    face_finish(&f);
}

static void patience_ends(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply reply = {.bytes = sv_of(ERROR("503 Down", ""))};
    fixture_replies(server, &reply, 1);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", 0);
    assert_int_equal(fixture_requests(server), 4);
    const struct json *e = face_event(&f, wait_for(&f, "auto_retry_end", 0) - 1);
    assert_false(json_get_bool(e, "success", true));
    assert_int_equal(json_get_num(e, "attempt", 0), 3);
    assert_non_null(strstr(json_get_str(e, "finalError"), "503"));
    assert_string_equal(last_stop(&f), "error");
    expect_good_answer(&f);
    face_finish(&f);
}

static void what_would_fail_again_is_not_tried_again(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply reply = {.bytes = sv_of(ERROR("401 No", ""))};
    fixture_replies(server, &reply, 1);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", 0);
    assert_int_equal(fixture_requests(server), 1);
    assert_int_equal(face_wait(&f, "auto_retry_start", 0, 0), 0);
    face_finish(&f);
}

static void the_server_says_when(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply replies[] = {
        {.bytes = sv_of(ERROR("429 Slow", "retry-after-ms: 345\r\n"))},
        {.bytes = sv_of(ERROR("429 Slow", "Retry-After: 3600\r\n"))},
    };
    fixture_replies(server, replies, 2);
    start(&f, good);
    int64_t begin = clock_mono_ms();
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", 0);
    assert_in_range(clock_mono_ms() - begin, 345, 3000);
    assert_int_equal(fixture_requests(server), 2);
    const struct json *e = face_event(&f, wait_for(&f, "auto_retry_start", 0) - 1);
    assert_int_equal(json_get_num(e, "delayMs", 0), 345);
    e = face_event(&f, wait_for(&f, "notice", 0) - 1);
    assert_non_null(strstr(json_get_str(e, "message"), "3600 seconds"));
    face_finish(&f);
}

static void steering_joins_the_next_try(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply replies[] = {
        {.bytes = sv_of(ERROR("529 Busy", "retry-after-ms: 300\r\n"))},
        {.bytes = sv_of(ANSWER("whole")), .end = FIXTURE_CLOSE},
    };
    fixture_replies(server, replies, 2);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "auto_retry_start", 0);
    prompt(&f, PI_DELIVER_STEER);
    wait_for(&f, "agent_end", 0);
    struct buf request = {0};
    fixture_last_request(server, &request);
    assert_non_null(strstr(buf_cstr(&request), "{\"messages\":2}"));
    buf_finish(&request);
    face_finish(&f);
}

static void a_request_that_a_refusal_explains_is_made_anew(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply replies[] = {
        {.bytes = sv_of("HTTP/1.1 400 No\r\nContent-Length: 57\r\n\r\n{\"error\":{"
                        "\"message\":\"unknown parameter: stream_options\"}}")},
        {.bytes = sv_of(ANSWER("fine")), .end = FIXTURE_CLOSE},
    };
    fixture_replies(server, replies, 2);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", 0);
    expect_types(&f, "agent_start,turn_start,message_start,message_end,message_start,"
                     "message_update,message_end,turn_end,agent_end");
    struct buf request = {0};
    fixture_last_request(server, &request);
    assert_non_null(strstr(buf_cstr(&request), "{\"messages\":1,\"learnt\":true}"));
    buf_finish(&request);
    // What was learnt is kept; the same refusal again is an error.
    fixture_replies(server, replies, 1);
    size_t from = face_len(&f);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "agent_end", from);
    assert_string_equal(last_stop(&f), "error");
    face_finish(&f);
}

/* -- aborts -- */

// A port whose queue of connections is full: connecting to it takes for ever.
static int full_listener(char *url, size_t n, int clients[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    for (int i = 0; i < 2; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(clients[i], (struct sockaddr *)&a, len);
    }
    snprintf(url, n, "http://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

static void expect_quick_abort(struct face *f, const char *stop)
{
    usleep(100 * 1000); // into the phase
    assert_int_equal(face_wait(f, "agent_end", 0, 0), 0);
    int64_t begin = clock_mono_ms();
    pi_agent_abort(f->agent);
    wait_for(f, "agent_end", 0);
    int64_t took = clock_mono_ms() - begin;
    print_message("aborted in %d ms\n", (int)took);
    assert_in_range(took, 0, ABORT_MS);
    assert_string_equal(last_stop(f), stop);
    expect_good_answer(f);
}

static void abort_in(const char *url, struct fixture_reply reply)
{
    struct face f = {0};
    struct face g = {0};
    fixture_replies(server, &reply, 1);
    start(&f, url);
    prompt(&f, PI_DELIVER_PROMPT);
    expect_quick_abort(&f, "aborted");
    face_finish(&f);
    // The end of the agent does not wait either.
    fixture_replies(server, &reply, 1);
    start(&g, url);
    prompt(&g, PI_DELIVER_PROMPT);
    usleep(100 * 1000);
    int64_t begin = clock_mono_ms();
    face_finish(&g);
    assert_in_range(clock_mono_ms() - begin, 0, ABORT_MS + 100);
}

static void abort_while_the_name_is_looked_up(void **state)
{
    (void)state;
    abort_in("http://slow.invalid", (struct fixture_reply){0});
}

static void abort_while_connecting(void **state)
{
    (void)state;
    char url[64];
    int clients[2];
    int fd = full_listener(url, sizeof url, clients);
    abort_in(url, (struct fixture_reply){0});
    close(clients[0]);
    close(clients[1]);
    close(fd);
}

static void abort_during_the_tls_handshake(void **state)
{
    (void)state;
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%u", fixture_port(server));
    abort_in(url, (struct fixture_reply){.end = FIXTURE_STALL, .no_reading = true});
}

static void abort_before_the_first_byte(void **state)
{
    (void)state;
    abort_in(good, (struct fixture_reply){.end = FIXTURE_STALL});
}

static void abort_in_the_middle_of_an_event(void **state)
{
    (void)state;
    abort_in(good, (struct fixture_reply){
                       .bytes = sv_of(UNTIL_CLOSE "data: text a\n\ndata: te"),
                       .end = FIXTURE_STALL,
                   });
}

static void abort_while_text_streams_without_pause(void **state)
{
    (void)state;
    abort_in(good, (struct fixture_reply){
                       .bytes = sv_of(UNTIL_CLOSE),
                       .again = sv_of("data: text a\n\ndata: text b\n\n: comment\n"),
                   });
}

static void abort_in_the_pause_before_a_retry(void **state)
{
    (void)state;
    struct face f = {0};
    struct fixture_reply reply = {.bytes =
                                      sv_of(ERROR("529 Busy", "Retry-After: 20\r\n"))};
    fixture_replies(server, &reply, 1);
    start(&f, good);
    prompt(&f, PI_DELIVER_PROMPT);
    wait_for(&f, "auto_retry_start", 0);
    expect_quick_abort(&f, "error");
    const struct json *e = face_event(&f, wait_for(&f, "auto_retry_end", 0) - 1);
    assert_false(json_get_bool(e, "success", true));
    face_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_after_retries),
        cmocka_unit_test(patience_ends),
        cmocka_unit_test(what_would_fail_again_is_not_tried_again),
        cmocka_unit_test(the_server_says_when),
        cmocka_unit_test(steering_joins_the_next_try),
        cmocka_unit_test(a_request_that_a_refusal_explains_is_made_anew),
        cmocka_unit_test(abort_while_the_name_is_looked_up),
        cmocka_unit_test(abort_while_connecting),
        cmocka_unit_test(abort_during_the_tls_handshake),
        cmocka_unit_test(abort_before_the_first_byte),
        cmocka_unit_test(abort_in_the_middle_of_an_event),
        cmocka_unit_test(abort_while_text_streams_without_pause),
        cmocka_unit_test(abort_in_the_pause_before_a_retry),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
