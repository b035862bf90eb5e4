#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llm/provider.h"
#include "llm/replay_file.h"
#include "sys/clock.h"
#include "text/utf8.h"

/* A conversation with the file of turns */

static struct talk {
    char path[256];
    struct message *messages[16];
    size_t len, failed;
} talk;

static void write_turns(const char *text)
{
    const char *dir = getenv("TMPDIR");
    snprintf(talk.path, sizeof talk.path, "%s/turns-%d", dir ? dir : "/tmp",
             (int)getpid());
    FILE *f = fopen(talk.path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void tell(enum role role, const char *text)
{
    struct message *m = message_create(role);
    assert_true(content_add_text(&m->content, sv_of(text)));
    talk.messages[talk.len++] = m;
}

static int finish(void **state)
{
    (void)state;
    for (size_t i = 0; i < talk.len; i++) {
        message_destroy(talk.messages[i]);
    }
    unlink(talk.path);
    memset(&talk, 0, sizeof talk);
    return 0;
}

static struct llm_stream *open_stream(struct pi_error *err)
{
    const struct model model = {
        .id = "replay", .api = "replay", .provider = "replay", .source = talk.path};
    const struct llm_request request = {
        .messages = talk.messages, .messages_len = talk.len, .failed = talk.failed};
    struct llm_stream *stream = NULL;
    const struct provider *provider = provider_find("replay");
    assert_non_null(provider);
    enum pi_status status = provider->open(&stream, &model, &request, err);
    assert_true((status == PI_OK) == (stream != NULL));
    return stream;
}

// Streams one answer; its events go to log as words, its deltas are checked.
static struct message *answer(struct buf *log)
{
    struct pi_error err = {0};
    struct llm_stream *s = open_stream(&err);
    if (!s) {
        fail_msg("%s", err.message);
        return NULL;
    }
    struct llm_event event;
    struct buf arrived = {0};
    int wait_ms = -1;
    do {
        enum pi_status status = s->provider->next(s, &event, &wait_ms, &err);
        if (status == PI_MORE) {
            assert_true(wait_ms > 0);
            usleep((unsigned)wait_ms * 1000);
            event.type = LLM_START;
            continue;
        }
        assert_int_equal(status, PI_OK);
        assert_true(utf8_valid(event.delta));
        buf_addsv(&arrived, event.delta);
        if (log) {
            buf_addf(log, "%s ", llm_event_name(event.type));
        }
        if (event.delta.n > 0) {
            const struct block *b = &s->message->content.blocks[event.content_index];
            assert_true(sv_ends(buf_sv(&b->text), event.delta));
        }
    } while (event.type != LLM_DONE && event.type != LLM_ERROR);
    assert_int_equal(s->provider->next(s, &event, &wait_ms, &err), PI_CLOSED);
    buf_finish(&arrived);
    struct message *m = s->message;
    s->message = NULL;
    s->provider->close(s);
    return m;
}

static const char *block_text(const struct message *m, size_t i)
{
    assert_true(i < m->content.len);
    return buf_cstr(&m->content.blocks[i].text);
}

/* Tests */

static void streams_blocks_in_order(void **state)
{
    (void)state;
    write_turns("// a comment\n{\"turns\":[{\"chunk\":100,\"blocks\":["
                "{\"thinking\":\"hm\",\"signature\":\"sig\"},{\"text\":\"Hello\"},"
                "{\"call\":{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}},"
                "{\"call\":{\"id\":\"x\",\"name\":\"ls\"}},],"
                "\"usage\":{\"input\":3,\"output\":4}}]}");
    tell(ROLE_USER, "hi");
    struct buf log = {0};
    struct message *m = answer(&log);
    assert_string_equal(buf_cstr(&log),
                        "start thinking_start thinking_delta thinking_end text_start "
                        "text_delta text_end toolcall_start toolcall_delta toolcall_end "
                        "toolcall_start toolcall_delta toolcall_end done ");
    assert_int_equal(m->stop_reason, STOP_TOOL_USE);
    assert_string_equal(m->content.blocks[0].signature, "sig");
    assert_string_equal(block_text(m, 1), "Hello");
    assert_string_equal(m->content.blocks[2].name, "read");
    assert_string_equal(m->content.blocks[2].id, "call_1_3");
    assert_string_equal(block_text(m, 2), "{\"path\":\"a\"}");
    assert_true(m->content.blocks[2].complete);
    assert_string_equal(m->content.blocks[3].id, "x");
    assert_string_equal(block_text(m, 3), "{}");
    assert_int_equal(m->usage.total, 7);
    assert_string_equal(m->api, "replay");
    message_destroy(m);
    buf_finish(&log);
}

static void deltas_are_small_and_whole_characters(void **state)
{
    (void)state;
    for (int chunk = 1; chunk < 12; chunk++) {
        struct buf text = {0}, log = {0};
        buf_addf(&text,
                 "{\"turns\":[{\"chunk\":%d,\"blocks\":[{\"text\":\"ab\xC3\xA9"
                 "\xE2\x82\xAC\xF0\x9F\x98\x80z\"}]}]}",
                 chunk);
        write_turns(buf_cstr(&text));
        tell(ROLE_USER, "hi");
        struct message *m = answer(&log);
        assert_string_equal(block_text(m, 0), "ab\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
        assert_int_equal(m->stop_reason, STOP_STOP);
        message_destroy(m);
        buf_finish(&text);
        buf_finish(&log);
        finish(NULL);
    }
}

static void the_request_chooses_the_turn(void **state)
{
    (void)state;
    write_turns("{\"turns\":[{\"blocks\":[{\"text\":\"one\"}]},"
                "{\"repeat\":2,\"blocks\":[{\"text\":\"two\"}]},"
                "{\"blocks\":[{\"text\":\"four\"}]}]}");
    static const char *const expected[] = {"one", "two", "two", "four"};
    for (size_t i = 0; i < 4; i++) {
        tell(ROLE_USER, "go");
        struct message *m = answer(NULL);
        assert_string_equal(block_text(m, 0), expected[i]);
        if (i == 2) {
            // A failed answer is not shown to the model again, but it counts.
            talk.failed = 1;
            message_destroy(m);
        } else {
            talk.messages[talk.len++] = m;
        }
    }
    tell(ROLE_USER, "go");
    struct message *m = answer(NULL);
    assert_int_equal(m->stop_reason, STOP_ERROR);
    assert_non_null(strstr(m->error_message, "has 4 turns"));
    assert_non_null(strstr(m->error_message, "turn 5"));
    message_destroy(m);
}

static void expectations_are_checked(void **state)
{
    (void)state;
    write_turns("{\"turns\":[{\"expect\":\"fix\",\"blocks\":[]},"
                "{\"expect\":[\"alpha\",\"beta\"],\"blocks\":[{\"text\":\"ok\"}]}]}");
    tell(ROLE_USER, "please fix it");
    struct message *m = answer(NULL);
    assert_int_equal(m->stop_reason, STOP_STOP);
    talk.messages[talk.len++] = m;
    tell(ROLE_TOOL_RESULT, "alpha");
    tell(ROLE_TOOL_RESULT, "beta");
    m = answer(NULL);
    assert_int_equal(m->stop_reason, STOP_STOP);
    message_destroy(m);
    message_destroy(talk.messages[--talk.len]);
    m = answer(NULL);
    assert_int_equal(m->stop_reason, STOP_ERROR);
    assert_non_null(strstr(m->error_message, "turn 2: expected to be told \"beta\", but "
                                             "found \"alpha\""));
    message_destroy(m);
}

static void calls_can_be_cut_or_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *turn;
        bool complete;
        enum stop_reason stop;
    } cases[] = {
        {"\"stopReason\":\"length\"", false, STOP_LENGTH},
        {"\"stopReason\":\"toolUse\"", true, STOP_TOOL_USE},
        {"\"error\":\"connection lost\"", false, STOP_ERROR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = {0};
        buf_addf(&text,
                 "{\"turns\":[{%s,\"blocks\":[{\"call\":{\"name\":\"write\","
                 "\"argumentsText\":\"{\\\"path\\\":\"}}]}]}",
                 cases[i].turn);
        write_turns(buf_cstr(&text));
        tell(ROLE_USER, "go");
        struct message *m = answer(NULL);
        assert_string_equal(block_text(m, 0), "{\"path\":");
        assert_int_equal(m->content.blocks[0].complete, cases[i].complete);
        assert_int_equal(m->stop_reason, cases[i].stop);
        if (m->stop_reason == STOP_ERROR) {
            assert_string_equal(m->error_message, "connection lost");
        }
        message_destroy(m);
        buf_finish(&text);
        finish(NULL);
    }
}

static void delays_do_not_block(void **state)
{
    (void)state;
    write_turns("{\"turns\":[{\"delayMs\":30,\"chunkDelayMs\":10,\"chunk\":1,"
                "\"blocks\":[{\"text\":\"abc\"}]}]}");
    tell(ROLE_USER, "go");
    int64_t then = clock_mono_ms();
    struct message *m = answer(NULL);
    assert_in_range(clock_mono_ms() - then, 55, 500);
    message_destroy(m);

    struct llm_stream *s = open_stream(NULL);
    struct llm_event event;
    int wait_ms = -1;
    assert_int_equal(s->provider->next(s, &event, &wait_ms, NULL), PI_MORE);
    assert_in_range(wait_ms, 1, 30);
    s->provider->close(s);
    provider_replay.close(NULL);
}

static void long_texts_stream_fast(void **state)
{
    (void)state;
    write_turns("{\"turns\":[{\"blocks\":[{\"repeatText\":{\"s\":\"some words \","
                "\"n\":200000}}]}]}");
    tell(ROLE_USER, "go");
    struct llm_stream *s = open_stream(NULL);
    struct llm_event event = {0};
    int wait_ms;
    size_t bytes = 0, events = 0;
    int64_t then = clock_mono_ms();
    while (event.type != LLM_DONE) {
        assert_int_equal(s->provider->next(s, &event, &wait_ms, NULL), PI_OK);
        bytes += event.delta.n;
        events++;
    }
    print_message("%zu bytes in %zu events: %d ms\n", bytes, events,
                  (int)(clock_mono_ms() - then));
    assert_int_equal(bytes, 2200000);
    assert_true(events > 100000);
    assert_true(clock_mono_ms() - then < 2000);
    s->provider->close(s);
}

static void mistakes_in_the_file_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "line 1"},
        {"{}", "\"turns\" is missing"},
        {"[]", "must be an object"},
        {"{\"turns\":[{}],\"x\":1}", "\"x\" is not known here"},
        {"{\"turns\":[{},{\"block\":[]}]}", "turn 2: \"block\" is not known here"},
        {"{\"turns\":[{\"blocks\":[{}]}]}", "needs one of text"},
        {"{\"turns\":[{\"blocks\":[{\"text\":\"a\",\"call\":{\"name\":\"x\"}}]}]}",
         "needs one of text"},
        {"{\"turns\":[{\"blocks\":[{\"call\":{}}]}]}", "needs a name"},
        {"{\"turns\":[{\"blocks\":[{\"call\":{\"name\":1}}]}]}", "must be a string"},
        {"{\"turns\":[{\"chunk\":-1}]}", "must be a whole number"},
        {"{\"turns\":[{\"stopReason\":\"error\"}]}", "must be stop, length or toolUse"},
        {"{\"turns\":[{\"repeat\":0}]}", "must be 1 or more"},
        {"{\"turns\":[{\"blocks\":[{\"repeatText\":{\"s\":\"xxxxxxxx\",\"n\":100000000}}]"
         "}]}",
         "larger than"},
        {"{\"turns\":[{\"expect\":[1]}]}", "must be a string or strings"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_file f = {0};
        struct pi_error err = {0};
        assert_int_equal(replay_file_parse(&f, sv_of(cases[i].text), &err), PI_INVALID);
        if (!strstr(err.message, cases[i].words)) {
            fail_msg("\"%s\" is not in: %s", cases[i].words, err.message);
        }
    }
    struct pi_error err = {0};
    write_turns("{\"turns\":1}");
    assert_null(open_stream(&err));
    assert_non_null(strstr(err.message, talk.path));
    unlink(talk.path);
    assert_null(open_stream(&err));
    assert_int_equal(err.code, PI_NOT_FOUND);
    assert_null(provider_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(streams_blocks_in_order, finish),
        cmocka_unit_test_teardown(deltas_are_small_and_whole_characters, finish),
        cmocka_unit_test_teardown(the_request_chooses_the_turn, finish),
        cmocka_unit_test_teardown(expectations_are_checked, finish),
        cmocka_unit_test_teardown(calls_can_be_cut_or_malformed, finish),
        cmocka_unit_test_teardown(delays_do_not_block, finish),
        cmocka_unit_test_teardown(long_texts_stream_fast, finish),
        cmocka_unit_test_teardown(mistakes_in_the_file_are_named, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
