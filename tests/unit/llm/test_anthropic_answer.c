#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire_fixture.h"

static struct talk talk = {
    .model = {.id = "claude-haiku-4-5",
              .api = "anthropic-messages",
              .provider = "anthropic",
              .base_url = "https://api.anthropic.com",
              .cost = {.input = 1, .output = 5, .cache_read = 0.1, .cache_write = 1.25}},
};

#define EXPECT(want, ...) EXPECT_ANSWER(&talk, &wire_anthropic, want, __VA_ARGS__)

#define START                                                                            \
    "message_start|{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":" \
    "{\"input_tokens\":25,\"output_tokens\":1}}}"
#define BLOCK(index, block)                                                              \
    "{\"type\":\"content_block_start\",\"index\":" #index ",\"content_block\":" block "}"
#define DELTA(index, delta)                                                              \
    "{\"type\":\"content_block_delta\",\"index\":" #index ",\"delta\":" delta "}"
#define TEXT_DELTA(index, text)                                                          \
    DELTA(index, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define JSON_DELTA(index, text)                                                          \
    DELTA(index, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define CLOSE(index) "{\"type\":\"content_block_stop\",\"index\":" #index "}"
#define STOP(reason)                                                                     \
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason "\"},\"usage\":"  \
    "{\"output_tokens\":9}}"
#define END "{\"type\":\"message_stop\"}"
#define TEXT "{\"type\":\"text\",\"text\":\"\"}"
#define CALL(id)                                                                         \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"read\",\"input\":{}}"

static void reads_each_kind_of_block(void **state)
{
    (void)state;
    EXPECT("thinking(Hm, so|Eq+/=) redacted(|Emw=) text(Hello) "
           "call(toolu_1,read,{\"path\":\"a\"}) toolUse",
           "ping|{\"type\":\"ping\"}", START,
           BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
           DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}"),
           DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\", so\"}"),
           DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"Eq\"}"),
           DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"+/=\"}"), CLOSE(0),
           BLOCK(1, "{\"type\":\"redacted_thinking\",\"data\":\"Emw=\"}"), CLOSE(1),
           BLOCK(2, TEXT), TEXT_DELTA(2, "Hel"), TEXT_DELTA(2, "lo"), CLOSE(2),
           BLOCK(3, CALL("toolu_1")), JSON_DELTA(3, ""), JSON_DELTA(3, "{\\\"path\\\":"),
           JSON_DELTA(3, "\\\"a\\\"}"), CLOSE(3), STOP("tool_use"), END);
}

static void finds_blocks_by_their_index(void **state)
{
    (void)state;
    EXPECT("text(ac) text(b) stop", START, BLOCK(5, TEXT), BLOCK(7, TEXT),
           TEXT_DELTA(5, "a"), TEXT_DELTA(7, "b"), TEXT_DELTA(5, "c"), CLOSE(7), CLOSE(5),
           STOP("end_turn"), END);
}

static void takes_arguments_from_the_start_or_from_deltas(void **state)
{
    (void)state;
    EXPECT("call(a,read,{}) call(b,ls,{\"x\":1}) call(c,ls,{\"y\":2}) toolUse", START,
           BLOCK(0, CALL("a")), CLOSE(0),
           BLOCK(1, "{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"ls\",\"input\":"
                    "{\"x\":1}}"),
           CLOSE(1),
           BLOCK(2, "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"ls\",\"input\":"
                    "{\"x\":1}}"),
           JSON_DELTA(2, "{\\\"y\\\":2}"), CLOSE(2), STOP("tool_use"), END);
}

static void gives_calls_ids_of_their_own(void **state)
{
    (void)state;
    talk_user(&talk, "go");
    talk_call(talk_answer(&talk), "old", "read", "{}");
    EXPECT("call(old_2,read,{}) call(a,read,{}) call(a_2,read,{}) "
           "call(call_1000_3,,{}) toolUse",
           START, BLOCK(0, CALL("old")), CLOSE(0), BLOCK(1, CALL("a")), CLOSE(1),
           BLOCK(2, CALL("a")), CLOSE(2), BLOCK(3, "{\"type\":\"tool_use\"}"), CLOSE(3),
           STOP("tool_use"), END);
    talk_finish(&talk);
}

static void ignores_what_it_does_not_know(void **state)
{
    (void)state;
    EXPECT("text(ok) stop", START,
           BLOCK(0, "{\"type\":\"server_tool_use\",\"id\":\"x\"}"), JSON_DELTA(0, "{}"),
           CLOSE(0), "{\"type\":\"news\"}", "news|x", "done|[DONE]", "{}", "[]", "null",
           "3", BLOCK(1, TEXT), TEXT_DELTA(1, "ok"),
           DELTA(1, "{\"type\":\"citations_delta\"}"), DELTA(9, "{\"type\":null}"),
           JSON_DELTA(8, "{}"), JSON_DELTA(1, "{}"), CLOSE(1), CLOSE(1), CLOSE(8),
           TEXT_DELTA(1, "late"), STOP("end_turn"), END, BLOCK(2, TEXT));
}

static void takes_text_that_was_not_announced(void **state)
{
    (void)state;
    EXPECT("text(hi) stop", START, TEXT_DELTA(0, "hi"), STOP("end_turn"), END);
}

static void knows_the_reasons_to_stop(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *want;
    } rows[] = {
        {"end_turn", "text(a) stop"},
        {"stop_sequence", "text(a) stop"},
        {"tool_use", "text(a) stop"},
        {"max_tokens", "text(a) length"},
        {"pause_turn", "text(a) stop continue"},
        {"refusal", "text(a) failed 400: the model refused to answer"},
        {"sensitive",
         "text(a) failed 400: the model refused to answer: the text is sensitive"},
        {"model_context_window_exceeded",
         "text(a) failed 400: the conversation has filled the model's context window "
         "(model_context_window_exceeded)"},
        {"tired", "text(a) failed 400: the answer ended for an unknown reason: tired"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char stop[200];
        snprintf(stop, sizeof stop,
                 "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\"}}",
                 rows[i].reason);
        EXPECT(rows[i].want, START, BLOCK(0, TEXT), TEXT_DELTA(0, "a"), CLOSE(0), stop,
               END);
    }
    EXPECT("failed 400: the model refused to answer: cyber", START,
           "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\","
           "\"stop_details\":{\"category\":\"cyber\"}}}",
           END);
}

static void a_missing_reason_is_a_stop_without_calls_only(void **state)
{
    (void)state;
    EXPECT("text(a) stop", START, BLOCK(0, TEXT), TEXT_DELTA(0, "a"), CLOSE(0), END);
    EXPECT("call(t,read,{},incomplete) failed 502: the answer ended without a reason",
           START, BLOCK(0, CALL("t")), CLOSE(0), END);
}

static void a_call_of_an_answer_that_was_cut_is_not_complete(void **state)
{
    (void)state;
    EXPECT("call(t,read,{},incomplete) cut", START, BLOCK(0, CALL("t")), CLOSE(0),
           STOP("tool_use"));
    EXPECT("call(t,read,{\"a\":,incomplete) cut", START, BLOCK(0, CALL("t")),
           JSON_DELTA(0, "{\\\"a\\\":"));
    EXPECT("cut", "");
}

static void the_last_call_before_the_limit_must_be_whole(void **state)
{
    (void)state;
    EXPECT("call(t,read,{\"a\":\"half,incomplete) length", START, BLOCK(0, CALL("t")),
           JSON_DELTA(0, "{\\\"a\\\":\\\"half"), CLOSE(0), STOP("max_tokens"), END);
    EXPECT("call(t,read,{},incomplete) length", START, BLOCK(0, CALL("t")), CLOSE(0),
           STOP("max_tokens"), END);
    EXPECT("call(t,read,{\"a\":1}) length", START, BLOCK(0, CALL("t")),
           JSON_DELTA(0, "{\\\"a\\\":1}"), CLOSE(0), STOP("max_tokens"), END);
}

static void arguments_that_are_not_json_are_kept_but_not_complete(void **state)
{
    (void)state;
    EXPECT("call(t,read,{'a':1},incomplete) toolUse", START, BLOCK(0, CALL("t")),
           JSON_DELTA(0, "{'a':1}"), CLOSE(0), STOP("tool_use"), END);
    EXPECT("call(t,read,{\"a\":\"C:\\\\Users\"}) toolUse", START, BLOCK(0, CALL("t")),
           JSON_DELTA(0, "{\\\"a\\\":\\\"C:\\\\Users\\\"}"), CLOSE(0), STOP("tool_use"),
           END);
}

static void an_error_ends_the_answer(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int status;
    } rows[] = {
        {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
         "\"Overloaded\"}}",
         529},
        {"{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}",
         500},
        {"{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}"
         "}",
         429},
        {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"}}", 400},
        {"{\"error\":{\"code\":503}}", 503},
        {"{\"type\":\"error\",\"error\":\"words\"}", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[300];
        snprintf(want, sizeof want, "text(a) failed %d: %s", rows[i].status,
                 rows[i].event);
        EXPECT(want, START, BLOCK(0, TEXT), TEXT_DELTA(0, "a"), rows[i].event, END);
    }
    EXPECT("failed 0: upstream is down", "error|upstream is down");
    EXPECT("failed 502: the server sent an event that is not JSON",
           "message_start|<html>");
}

static void counts_tokens_and_their_price(void **state)
{
    (void)state;
    const char *const events[] = {
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":100,"
        "\"cache_read_input_tokens\":1000,\"cache_creation_input_tokens\":2000,"
        "\"output_tokens\":1}}}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
        "\"output_tokens\":50,\"input_tokens\":null,\"cache_read_input_tokens\":\"x\"}}",
        END,
        NULL,
    };
    struct usage u;
    free(talk_decode(&talk, &wire_anthropic, events, &u));
    assert_int_equal(u.input, 100);
    assert_int_equal(u.cache_read, 1000);
    assert_int_equal(u.cache_write, 2000);
    assert_int_equal(u.output, 50);
    assert_int_equal(u.total, 3150);
    assert_true(u.cost_total > 0.00294 && u.cost_total < 0.00296);
}

static void numbers_that_cannot_be_tokens_are_none(void **state)
{
    (void)state;
    const char *const events[] = {
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":-5,"
        "\"cache_read_input_tokens\":1e400,\"output_tokens\":1e300}}}",
        END, NULL};
    struct usage u;
    free(talk_decode(&talk, &wire_anthropic, events, &u));
    assert_int_equal(u.total, 0);
}

static void takes_an_answer_that_does_not_stream(void **state)
{
    (void)state;
    EXPECT("thinking(t|s) text(a) call(x,ls,{\"a\":1}) toolUse",
           "{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"thinking\","
           "\"thinking\":\"t\",\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"},"
           "{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"ls\",\"input\":{\"a\":1}}],"
           "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":1}}");
}

static void many_small_pieces_take_linear_time(void **state)
{
    (void)state;
    struct message *m = message_create(ROLE_ASSISTANT);
    struct wire_answer *a = NULL;
    const struct wire *wire = &wire_anthropic;
    talk_request(&talk);
    assert_int_equal(wire->begin(&a, &talk.input, m, NULL), PI_OK);
    assert_int_equal(wire->decode(a, sv_of(""), sv_of(BLOCK(0, CALL("t"))), NULL), PI_OK);
    assert_int_equal(
        wire->decode(a, sv_of(""), sv_of(JSON_DELTA(0, "{\\\"a\\\":\\\"")), NULL), PI_OK);
    for (int i = 0; i < 20000; i++) {
        wire->decode(a, sv_of(""), sv_of(JSON_DELTA(0, "x")), NULL);
        assert_int_equal(a->events_len, 1);
    }
    wire->decode(a, sv_of(""), sv_of(JSON_DELTA(0, "\\\"}")), NULL);
    wire->decode(a, sv_of(""), sv_of(CLOSE(0)), NULL);
    wire->decode(a, sv_of(""), sv_of(STOP("tool_use")), NULL);
    wire->decode(a, sv_of(""), sv_of(END), NULL);
    assert_true(a->terminal && a->over && m->content.blocks[0].complete);
    assert_int_equal(m->content.blocks[0].text.len, 20000 + 8);
    wire->finish(a);
    message_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_kind_of_block),
        cmocka_unit_test(finds_blocks_by_their_index),
        cmocka_unit_test(takes_arguments_from_the_start_or_from_deltas),
        cmocka_unit_test(gives_calls_ids_of_their_own),
        cmocka_unit_test(ignores_what_it_does_not_know),
        cmocka_unit_test(takes_text_that_was_not_announced),
        cmocka_unit_test(knows_the_reasons_to_stop),
        cmocka_unit_test(a_missing_reason_is_a_stop_without_calls_only),
        cmocka_unit_test(a_call_of_an_answer_that_was_cut_is_not_complete),
        cmocka_unit_test(the_last_call_before_the_limit_must_be_whole),
        cmocka_unit_test(arguments_that_are_not_json_are_kept_but_not_complete),
        cmocka_unit_test(an_error_ends_the_answer),
        cmocka_unit_test(counts_tokens_and_their_price),
        cmocka_unit_test(numbers_that_cannot_be_tokens_are_none),
        cmocka_unit_test(takes_an_answer_that_does_not_stream),
        cmocka_unit_test(many_small_pieces_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
