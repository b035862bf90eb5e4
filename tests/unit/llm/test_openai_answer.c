#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire_fixture.h"

static struct talk talk = {
    .model = {.id = "m",
              .api = "openai-completions",
              .provider = "local",
              .base_url = "http://localhost:8080/v1",
              .cost = {.input = 1, .output = 2}},
    .tools = {{.name = "read"}, {.name = "read_file"}, {.name = "bash"}},
    .tools_len = 3,
};

#define EXPECT(want, ...) EXPECT_ANSWER(&talk, &wire_openai_chat, want, __VA_ARGS__)

#define CHUNK(choice) "{\"id\":\"c1\",\"choices\":[" choice "]}"
#define DELTA(members)                                                                   \
    CHUNK("{\"index\":0,\"delta\":{" members "},\"finish_reason\":null}")
#define TEXT(text) DELTA("\"content\":\"" text "\"")
#define CALLS(list) DELTA("\"tool_calls\":[" list "]")
#define FINISH(reason) CHUNK("{\"delta\":{},\"finish_reason\":\"" reason "\"}")
#define DONE "[DONE]"

static void reads_text_and_calls(void **state)
{
    (void)state;
    EXPECT("text(Hello) call(call_1,read,{\"path\":\"a\"}) toolUse",
           DELTA("\"role\":\"assistant\",\"content\":\"\""), TEXT("Hel"), TEXT("lo"),
           CALLS("{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{"
                 "\"name\":\"read\",\"arguments\":\"\"}}"),
           CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"pa\"}}"),
           CALLS("{\"index\":0,\"function\":{\"arguments\":\"th\\\":\\\"a\\\"}\"}}"),
           FINISH("tool_calls"), "{\"choices\":[],\"usage\":{}}", DONE);
}

/* -- which call a piece belongs to -- */

static void the_index_tells_calls_apart(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":1}) call(b,bash,{\"y\":2}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}},"
                 "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"bash\"}}"),
           CALLS("{\"index\":1,\"function\":{\"arguments\":\"{\\\"y\\\":\"}}"),
           CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\\\":1}\"}}"),
           CALLS("{\"index\":1,\"function\":{\"arguments\":\"2}\"}}"),
           FINISH("tool_calls"));
}

static void whole_calls_with_one_index_are_several(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":1}) call(b,read,{\"x\":2}) call(c,bash,{}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{\\\"x\\\":1}\"}}"),
           CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{\\\"x\\\":2}\"}}"),
           CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"bash\","
                 "\"arguments\":\"{}\"}}"),
           FINISH("stop"));
}

static void an_id_that_changes_is_still_the_same_call(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":1}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{\\\"x\"}}"),
           CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"\\\":\"}}"),
           CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"arguments\":\"1}\"}}"),
           CALLS("{\"index\":0,\"id\":\"d\",\"function\":{\"arguments\":\"\"}}"),
           FINISH("tool_calls"));
}

static void without_index_the_id_tells(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":1}) call(b,bash,{\"y\":2}) toolUse",
           CALLS("{\"id\":\"a\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}"),
           CALLS("{\"id\":\"b\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}"),
           CALLS("{\"id\":\"a\",\"function\":{\"arguments\":\"{\\\"x\\\":1}\"}}"),
           CALLS("{\"id\":\"b\",\"function\":{\"arguments\":\"{\\\"y\\\":\"}}"),
           CALLS("{\"id\":\"z\",\"function\":{\"arguments\":\"2}\"}}"),
           FINISH("tool_calls"));
}

static void without_index_and_id_a_name_begins_a_call(void **state)
{
    (void)state;
    EXPECT("call(call_1000_0,read,{\"x\":1}) call(call_1000_1,bash,{\"y\":2}) toolUse",
           CALLS("{\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"x\\\":\"}}"),
           CALLS("{\"function\":{\"arguments\":\"1}\"}}"),
           CALLS("{\"id\":\"\",\"function\":{\"name\":\"bash\",\"arguments\":"
                 "\"{\\\"y\\\":2}\"}}"),
           FINISH("tool_calls"));
}

static void a_name_counts_once_or_joins_to_a_tool(void **state)
{
    (void)state;
    EXPECT("call(a,read_file,{}) call(b,read,{}) call(c,what,{}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read_\"}}"),
           CALLS("{\"index\":0,\"function\":{\"name\":\"file\"}}"),
           CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"read\"}}"),
           CALLS("{\"index\":1,\"function\":{\"name\":\"read\"}}"),
           CALLS("{\"index\":1,\"function\":{\"name\":\"\"}}"),
           CALLS("{\"index\":2,\"id\":\"c\",\"function\":{\"name\":\"what\"}}"),
           CALLS("{\"index\":2,\"function\":{\"name\":\"what\"}}"), FINISH("tool_calls"));
}

static void arguments_may_be_an_object_or_missing(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":[1]}) call(b,read,{}) call(c,read,{}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":{\"x\":[1]}}}"),
           CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"read\","
                 "\"arguments\":null}}"),
           CALLS("{\"index\":2,\"id\":\"c\",\"function\":{\"name\":\"read\"}},null,7"),
           FINISH("tool_calls"));
}

static void equal_ids_become_different(void **state)
{
    (void)state;
    EXPECT("call(a,read,{}) call(a_2,read,{}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"),
           CALLS("{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"),
           FINISH("tool_calls"));
}

static void a_call_without_a_name_has_an_empty_one(void **state)
{
    (void)state;
    EXPECT("call(a,,{}) toolUse", CALLS("{\"index\":0,\"id\":\"a\"}"),
           FINISH("tool_calls"));
}

static void text_may_come_after_calls(void **state)
{
    (void)state;
    EXPECT("text(one) call(a,read,{}) text(two) toolUse", TEXT("one"),
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"),
           TEXT("two"), FINISH("tool_calls"));
}

static void what_must_come_back_is_the_signature(void **state)
{
    (void)state;
    EXPECT(
        "call(a,read,{},{\"extra_content\":{\"google\":{\"thought_signature\":\"S\"}}}) "
        "toolUse",
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"},"
              "\"extra_content\":{\"google\":{\"thought_signature\":\"S\"}}}"),
        FINISH("tool_calls"));
    EXPECT(
        "call(a,read,{},{\"type\":\"reasoning.encrypted\",\"data\":\"D\",\"id\":\"x\"}) "
        "call(b,read,{},{\"type\":\"reasoning.encrypted\",\"data\":\"E\",\"id\":\"b\"}) "
        "toolUse",
        DELTA("\"reasoning_details\":[{\"type\":\"reasoning.text\"},{\"type\":"
              "\"reasoning.encrypted\",\"data\":\"D\",\"id\":\"x\"},{\"type\":"
              "\"reasoning.encrypted\",\"data\":\"E\",\"id\":\"b\"}]"),
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}},"
              "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"read\"}}"),
        FINISH("tool_calls"));
}

/* -- thinking -- */

static void thinking_comes_in_one_of_three_fields(void **state)
{
    (void)state;
    EXPECT("thinking(ab|reasoning_content) text(c) stop",
           DELTA("\"reasoning_content\":\"a\",\"reasoning\":\"a\",\"content\":\"\""),
           DELTA("\"reasoning_content\":\"b\",\"content\":null"), TEXT("c"),
           FINISH("stop"));
    EXPECT("thinking(a|reasoning) text(c) stop",
           DELTA("\"reasoning_content\":\"\",\"reasoning\":\"a\""), TEXT("c"),
           FINISH("stop"));
    EXPECT("thinking(a|reasoning_text) stop", DELTA("\"reasoning_text\":\"a\""),
           FINISH("stop"));
}

static void thinking_may_stand_in_tags(void **state)
{
    (void)state;
    EXPECT("thinking(so|-) text(yes <think> no) stop", TEXT("\\n<thi"), TEXT("nk>so</t"),
           TEXT("hink>\\n\\nyes"), TEXT(" <think> no"), FINISH("stop"));
    EXPECT("text(<thin) stop", TEXT("<thin"), FINISH("stop"));
    EXPECT("thinking(a</thi|-) length", TEXT("<think>a</thi"), FINISH("length"));
    EXPECT("thinking(r|reasoning) text(<think>) stop", DELTA("\"reasoning\":\"r\""),
           TEXT("<think>"), FINISH("stop"));
}

static void content_may_be_a_list_of_parts(void **state)
{
    (void)state;
    EXPECT("thinking(hm|-) text(ab) stop",
           DELTA("\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
                 "\"text\":\"hm\"}]},{\"type\":\"text\",\"text\":\"a\"},\"b\",{\"type\":"
                 "\"reference\"},null]"),
           FINISH("stop"));
    EXPECT("thinking(hm|-) stop",
           DELTA("\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"}]"),
           FINISH("stop"));
    EXPECT("text(I cannot) stop", DELTA("\"content\":null,\"refusal\":\"I cannot\""),
           FINISH("stop"));
}

/* -- the end -- */

static void knows_the_reasons_to_stop(void **state)
{
    (void)state;
    static const struct {
        const char *reason, *want;
    } rows[] = {
        {"stop", "text(a) stop"},
        {"end", "text(a) stop"},
        {"eos", "text(a) stop"},
        {"tool_calls", "text(a) stop"},
        {"function_call", "text(a) stop"},
        {"length", "text(a) length"},
        {"", "text(a) cut"},
        {"content_filter",
         "text(a) failed 400: the answer was stopped by a content filter"},
        {"error", "text(a) failed 502: the server broke off the answer"},
        {"network_error",
         "text(a) failed 502: the server broke off the answer (network error)"},
        {"insufficient_system_resource", "text(a) failed 503: the server is overloaded"},
        {"function_call_filter: MALFORMED_FUNCTION_CALL",
         "text(a) failed 502: the model made a call that is no JSON"},
        {"model_context_window_exceeded",
         "text(a) failed 400: the conversation has filled the model's context window "
         "(model_context_window_exceeded)"},
        {"tired", "text(a) failed 400: the answer ended for an unknown reason: tired"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char finish[200];
        snprintf(
            finish, sizeof finish,
            "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"%s\"}]}",
            rows[i].reason);
        EXPECT(rows[i].want, finish);
    }
}

static void a_stop_behind_calls_is_for_them(void **state)
{
    (void)state;
    EXPECT("call(a,read,{}) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"),
           FINISH("stop"));
}

static void a_router_tells_how_it_really_ended(void **state)
{
    (void)state;
    EXPECT("text(a) failed 502: the server broke off the answer", TEXT("a"),
           CHUNK("{\"delta\":{},\"finish_reason\":\"stop\",\"native_finish_reason\":"
                 "\"error\"}"));
    EXPECT("text(a) stop", TEXT("a"),
           CHUNK("{\"delta\":{},\"finish_reason\":\"stop\",\"native_finish_reason\":"
                 "\"STOP\"}"));
}

static void the_last_call_before_the_limit_is_never_complete(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":1}) call(b,read,{\"x\":2},incomplete) length",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{\\\"x\\\":1}\"}},{\"index\":1,\"id\":\"b\","
                 "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"x\\\":2}\"}}"),
           FINISH("length"));
}

static void arguments_that_are_cut_are_not_complete(void **state)
{
    (void)state;
    EXPECT("call(a,read,{\"x\":,incomplete) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{\\\"x\\\":\"}}"),
           FINISH("tool_calls"));
    EXPECT("call(a,read,{}{},incomplete) toolUse",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                 "\"arguments\":\"{}{}\"}}"),
           FINISH("tool_calls"));
}

static void no_room_for_an_answer_is_an_overflow(void **state)
{
    (void)state;
    EXPECT("failed 400: context window exceeded: there was no room left for an answer",
           FINISH("length"));
}

static void only_a_reason_makes_an_answer_complete(void **state)
{
    (void)state;
    EXPECT("text(a) cut", TEXT("a"));
    EXPECT("call(a,read,{},incomplete) cut",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"));
    EXPECT("call(a,read,{},incomplete) cut",
           CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}"), DONE);
    EXPECT("text(a) stop", TEXT("a"), " [DONE] ");
    EXPECT("thinking(a|reasoning) cut", DELTA("\"reasoning\":\"a\""), DONE);
    EXPECT("cut", DONE);
}

static void empty_chunks_are_skipped(void **state)
{
    (void)state;
    EXPECT("text(a) stop", "null", "{}", "{\"choices\":null}", "{\"choices\":[]}",
           "{\"choices\":[null]}", "{\"choices\":[{}]}", "{\"choices\":{}}",
           "{\"choices\":[{\"delta\":null}]}", "{\"error\":null,\"choices\":[]}",
           "{\"error\":\"\",\"choices\":[]}", TEXT("a"), FINISH("stop"), TEXT("late"));
}

static void an_error_ends_the_answer(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int status;
    } rows[] = {
        {"{\"error\":{\"message\":\"x\",\"code\":502},\"choices\":[]}", 502},
        {"{\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}", 500},
        {"{\"error\":\"words\"}", 0},
        {"{\"code\":\"429\",\"error\":\"words\"}", 0},
        {"{\"detail\":\"words\"}", 0},
        {"{\"message\":\"words\"}", 0},
        {"[{\"error\":{\"code\":503,\"message\":\"x\"}}]", 503},
        {"{\"error\":{\"type\":\"rate_limit_exceeded\"}}", 429},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[300];
        snprintf(want, sizeof want, "text(a) failed %d: %s", rows[i].status,
                 rows[i].event);
        EXPECT(want, TEXT("a"), rows[i].event, FINISH("stop"));
    }
    EXPECT("failed 0: down", "error|down");
    EXPECT("failed 0: {\"message\":\"m\",\"choices\":[]}",
           "error|{\"message\":\"m\",\"choices\":[]}");
    EXPECT("failed 502: the server sent something that is not JSON", "<html>");
    EXPECT("failed 429: {\"error\":{\"code\":429,\"message\":\"x\"}}",
           CHUNK("{\"error\":{\"code\":429,\"message\":\"x\"}}"));
}

/* -- usage -- */

static struct usage usage_of(const char *chunk)
{
    struct usage u;
    const char *const events[] = {FINISH("stop"), chunk, DONE, NULL};
    free(talk_decode(&talk, &wire_openai_chat, events, &u));
    return u;
}

static void counts_tokens_wherever_they_stand(void **state)
{
    (void)state;
    static const struct {
        const char *chunk;
        int64_t input, output, read, write;
    } rows[] = {
        {"{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}", 9, 5,
         0, 0},
        {"{\"choices\":[{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}]}", 9,
         5, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,"
         "\"prompt_tokens_details\":{\"cached_tokens\":4}}}",
         5, 5, 4, 0},
        {"{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,"
         "\"prompt_cache_hit_tokens\":4}}",
         5, 5, 4, 0},
        {"{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,"
         "\"prompt_tokens_details\":{\"cached_tokens\":6,\"cache_write_tokens\":2}}}",
         3, 5, 4, 2},
        {"{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,\"total_tokens\":21,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":7}}}",
         9, 12, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,\"total_tokens\":14,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":3}}}",
         9, 5, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":null,\"completion_tokens\":\"x\"}}", 0, 0, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":5}"
         "}}",
         0, 0, 5, 0},
        {"{\"usage\":null}", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct usage u = usage_of(rows[i].chunk);
        assert_int_equal(u.input, rows[i].input);
        assert_int_equal(u.output, rows[i].output);
        assert_int_equal(u.cache_read, rows[i].read);
        assert_int_equal(u.cache_write, rows[i].write);
    }
}

static void takes_an_answer_that_does_not_stream(void **state)
{
    (void)state;
    EXPECT(
        "thinking(r|reasoning_content) text(a) call(x,read,{\"a\":1}) toolUse",
        "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"role\":"
        "\"assistant\",\"content\":\"a\",\"reasoning_content\":\"r\",\"tool_calls\":[{"
        "\"id\":\"x\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"a\\\":1}\"}}]"
        "},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":3}}");
}

static void many_small_pieces_take_linear_time(void **state)
{
    (void)state;
    struct message *m = message_create(ROLE_ASSISTANT);
    struct wire_answer *a = NULL;
    const struct wire *wire = &wire_openai_chat;
    talk_request(&talk);
    assert_int_equal(wire->begin(&a, &talk.input, m, NULL), PI_OK);
    wire->decode(a, sv_of(""),
                 sv_of(CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\","
                             "\"arguments\":\"{\\\"x\\\":\\\"\"}}")),
                 NULL);
    for (int i = 0; i < 20000; i++) {
        wire->decode(a, sv_of(""),
                     sv_of(CALLS("{\"index\":0,\"function\":{\"arguments\":\"y\"}}")),
                     NULL);
        assert_int_equal(a->events_len, 1);
    }
    wire->decode(a, sv_of(""),
                 sv_of(CALLS("{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}")),
                 NULL);
    wire->decode(a, sv_of(""), sv_of(FINISH("tool_calls")), NULL);
    assert_true(a->terminal && !a->over && m->content.blocks[0].complete);
    wire->decode(a, sv_of(""), sv_of(DONE), NULL);
    assert_true(a->over);
    wire->finish(a);
    message_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_text_and_calls),
        cmocka_unit_test(the_index_tells_calls_apart),
        cmocka_unit_test(whole_calls_with_one_index_are_several),
        cmocka_unit_test(an_id_that_changes_is_still_the_same_call),
        cmocka_unit_test(without_index_the_id_tells),
        cmocka_unit_test(without_index_and_id_a_name_begins_a_call),
        cmocka_unit_test(a_name_counts_once_or_joins_to_a_tool),
        cmocka_unit_test(arguments_may_be_an_object_or_missing),
        cmocka_unit_test(equal_ids_become_different),
        cmocka_unit_test(a_call_without_a_name_has_an_empty_one),
        cmocka_unit_test(text_may_come_after_calls),
        cmocka_unit_test(what_must_come_back_is_the_signature),
        cmocka_unit_test(thinking_comes_in_one_of_three_fields),
        cmocka_unit_test(thinking_may_stand_in_tags),
        cmocka_unit_test(content_may_be_a_list_of_parts),
        cmocka_unit_test(knows_the_reasons_to_stop),
        cmocka_unit_test(a_stop_behind_calls_is_for_them),
        cmocka_unit_test(a_router_tells_how_it_really_ended),
        cmocka_unit_test(the_last_call_before_the_limit_is_never_complete),
        cmocka_unit_test(arguments_that_are_cut_are_not_complete),
        cmocka_unit_test(no_room_for_an_answer_is_an_overflow),
        cmocka_unit_test(only_a_reason_makes_an_answer_complete),
        cmocka_unit_test(empty_chunks_are_skipped),
        cmocka_unit_test(an_error_ends_the_answer),
        cmocka_unit_test(counts_tokens_wherever_they_stand),
        cmocka_unit_test(takes_an_answer_that_does_not_stream),
        cmocka_unit_test(many_small_pieces_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
