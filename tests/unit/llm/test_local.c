#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "http_fixture.h"
#include "llm/local.h"
#include "scratch.h"
#include "sys/clock.h"

// Two servers of the user, "one" and "two", and none of this machine's own.
struct bed {
    struct fixture *one, *two;
    struct http *http;
    struct models *table;
    struct buf answered;
};

static int setup(void **state)
{
    struct bed *b = calloc(1, sizeof *b);
    struct buf text = {0}, problems = {0};
    char *dir = scratch_make();
    b->one = fixture_start();
    b->two = fixture_start();
    buf_adds(&text, "{\"providers\":{");
    static const char *const others[] = {"ollama", "llama.cpp", "lmstudio", "vllm"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        buf_addf(&text, "\"%s\":{\"baseUrl\":\"http://127.0.0.1:9/\"},", others[i]);
    }
    buf_addf(&text,
             "\"one\":{\"baseUrl\":\"http://127.0.0.1:%u/v1/\"},\"two\":{\"baseUrl\":"
             "\"http://127.0.0.1:%u\"}}}",
             fixture_port(b->one), fixture_port(b->two));
    scratch_text(dir, "models.json", buf_cstr(&text));
    assert_int_equal(
        models_load(&b->table, scratch_path(dir, "models.json"), &problems, NULL), PI_OK);
    assert_string_equal(buf_cstr(&problems), "");
    assert_int_equal(http_create(&b->http, &(struct http_options){0}, NULL), PI_OK);
    buf_finish(&text);
    buf_finish(&problems);
    scratch_remove(dir);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bed *b = *state;
    http_destroy(b->http);
    models_destroy(b->table);
    buf_finish(&b->answered);
    fixture_stop(b->one);
    fixture_stop(b->two);
    free(b);
    return 0;
}

#define REPLY(status, length, body)                                                      \
    {                                                                                    \
        .bytes = {"HTTP/1.1 " status "\r\nContent-Length: " length "\r\n\r\n" body,      \
                  sizeof("HTTP/1.1 " status "\r\nContent-Length: " length                \
                         "\r\n\r\n" body) -                                              \
                      1},                                                                \
        .end = FIXTURE_CLOSE                                                             \
    }

static const struct fixture_reply list =
    REPLY("200 OK", "23", "{\"data\":[{\"id\":\"m\"}]}\n\n");
static const struct fixture_reply missing = REPLY("404 No", "0", "");
static const struct fixture_reply silent = {.end = FIXTURE_STALL};

static int64_t discover(struct bed *b, const char *only, struct cancel *cancel,
                        enum pi_status expected)
{
    const struct local_options options = {
        .http = b->http,
        .cancel = cancel,
        .only = only ? models_find_provider(b->table, sv_of(only)) : NULL,
        .answered = &b->answered,
    };
    struct pi_error err = {0};
    int64_t start = clock_mono_ms();
    assert_int_equal(local_discover(b->table, &options, &err), expected);
    return clock_mono_ms() - start;
}

static size_t count(const struct bed *b, const char *provider)
{
    size_t n = 0;
    for (size_t i = 0; i < models_len(b->table); i++) {
        n += strcmp(models_at(b->table, i)->provider, provider) == 0;
    }
    return n;
}

static void test_a_server_that_only_lists(void **state)
{
    struct bed *b = *state;
    const struct fixture_reply replies[] = {list, missing};
    fixture_replies(b->one, replies, 2);
    fixture_replies(b->two, &missing, 1);
    assert_in_range(discover(b, NULL, NULL, PI_OK), 0, 1000);
    assert_string_equal(buf_cstr(&b->answered), "one\n");
    assert_int_equal(count(b, "one"), 1);
    assert_int_equal(count(b, "two"), 0);
    assert_int_equal(fixture_requests(b->one), 5); // the list, and four other questions
    assert_int_equal(fixture_requests(b->two), 1);
}

static void test_only_one_is_asked(void **state)
{
    struct bed *b = *state;
    const struct fixture_reply replies[] = {list, missing};
    fixture_replies(b->one, replies, 2);
    fixture_replies(b->two, replies, 2);
    discover(b, "two", NULL, PI_OK);
    assert_string_equal(buf_cstr(&b->answered), "two\n");
    assert_int_equal(fixture_requests(b->one), 0);
}

// One server hangs: the other one's models are there all the same, and soon.
static void test_a_server_that_hangs(void **state)
{
    struct bed *b = *state;
    const struct fixture_reply replies[] = {list, missing};
    fixture_replies(b->one, &silent, 1);
    fixture_replies(b->two, replies, 2);
    assert_in_range(discover(b, NULL, NULL, PI_OK), 1000, 4000);
    assert_string_equal(buf_cstr(&b->answered), "two\n");
    assert_int_equal(count(b, "two"), 1);
}

static void test_bodies_without_end(void **state)
{
    struct bed *b = *state;
    struct fixture_reply endless = {
        .bytes = sv_of("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n{"),
        .again =
            sv_of("                                                                ")};
    fixture_replies(b->one, &endless, 1);
    fixture_replies(b->two, &missing, 1);
    assert_in_range(discover(b, NULL, NULL, PI_OK), 0, 4000);
    assert_int_equal(b->answered.len, 0);
}

static void *abort_soon(void *cancel)
{
    usleep(50 * 1000);
    cancel_set(cancel);
    return NULL;
}

static void test_the_user_aborts(void **state)
{
    struct bed *b = *state;
    struct cancel *cancel;
    pthread_t thread;
    fixture_replies(b->one, &silent, 1);
    fixture_replies(b->two, &silent, 1);
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    pthread_create(&thread, NULL, abort_soon, cancel);
    assert_in_range(discover(b, NULL, cancel, PI_ABORTED), 40, 1000);
    pthread_join(thread, NULL);
    cancel_unref(cancel);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_server_that_only_lists), TEST(test_only_one_is_asked),
        TEST(test_a_server_that_hangs),      TEST(test_bodies_without_end),
        TEST(test_the_user_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
