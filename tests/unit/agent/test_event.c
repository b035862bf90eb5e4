#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/event.h"
#include "base/json.h"

static struct pi_event *text_delta(size_t index, const char *text)
{
    struct llm_event e = {
        .type = LLM_TEXT_DELTA, .content_index = index, .delta = sv_of(text)};
    return event_update(&e, NULL);
}

static void deltas_have_the_reference_form(void **state)
{
    (void)state;
    struct pi_event *e = text_delta(2, "a\"b\n");
    assert_string_equal(
        pi_event_json(e, NULL),
        "{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":"
        "\"text_delta\",\"contentIndex\":2,\"delta\":\"a\\\"b\\n\"}}");
    assert_int_equal(pi_event_delta(e), PI_DELTA_TEXT);
    assert_string_equal(pi_event_text(e, NULL), "a\"b\n");
    event_destroy(e);
}

static void neighbours_merge_and_others_do_not(void **state)
{
    (void)state;
    struct pi_event *a = text_delta(0, "one ");
    struct pi_event *b = text_delta(0, "two");
    struct pi_event *other_block = text_delta(1, "x");
    struct pi_event *notice = event_notice("info", "hello");
    assert_true(event_merge(a, b));
    assert_false(event_merge(a, other_block));
    assert_false(event_merge(a, notice));
    assert_false(event_merge(notice, notice));
    assert_string_equal(pi_event_text(a, NULL), "one two");
    event_destroy(a);
    event_destroy(b);
    event_destroy(other_block);
    event_destroy(notice);
}

static void output_keeps_the_newest_and_counts_the_rest(void **state)
{
    (void)state;
    struct tool_call call = {.id = "c1", .name = "bash"};
    struct pi_event *e = event_tool_output(&call, sv_of(""));
    char line[101];
    memset(line, 'x', 99);
    line[99] = '\n';
    line[100] = '\0';
    size_t total = 0;
    for (int i = 0; i < 10000; i++) {
        line[0] = (char)('a' + i % 26);
        struct pi_event *more = event_tool_output(&call, sv_of(line));
        assert_true(event_merge(e, more));
        event_destroy(more);
        total += 100;
    }
    size_t n = 0;
    const char *text = pi_event_text(e, &n);
    assert_true(n <= EVENT_OUTPUT_MAX);
    assert_int_equal(n + e->skipped, total);
    assert_int_equal(n % 100, 0); // cut at a line start
    assert_int_equal(text[n - 100], 'a' + 9999 % 26);
    assert_non_null(strstr(pi_event_json(e, NULL), "\"skippedBytes\":"));
    event_destroy(e);
}

static void tool_end_carries_content_and_details(void **state)
{
    (void)state;
    struct tool_call call = {.id = "c1", .name = "read"};
    struct tool_result result = {.is_error = true};
    assert_true(tool_result_text(&result, sv_of("no such file")));
    struct pi_event *e = event_tool_end(&call, &result);
    struct json *j = NULL;
    assert_int_equal(json_parse(&j, sv_of(pi_event_json(e, NULL)), NULL, NULL), PI_OK);
    assert_true(json_get_bool(j, "isError", false));
    struct json *content = json_get(json_get(j, "result"), "content");
    assert_string_equal(json_get_str(json_first(content), "text"), "no such file");
    json_destroy(j);
    event_destroy(e);
    tool_result_finish(&result);
}

static void the_brief_form_repeats_no_messages(void **state)
{
    (void)state;
    size_t len;
    struct pi_event *e = event_agent_end(NULL, 0);
    assert_string_equal(pi_event_json(e, NULL),
                        "{\"type\":\"agent_end\",\"messages\":[]}");
    assert_string_equal(pi_event_brief_json(e, &len), "{\"type\":\"agent_end\"}");
    assert_int_equal(len, strlen("{\"type\":\"agent_end\"}"));
    event_destroy(e);
    struct message *m = message_create(ROLE_ASSISTANT);
    e = event_turn_end(m, NULL, 0);
    message_destroy(m); // the event has a share of it
    assert_string_equal(pi_event_brief_json(e, &len), "{\"type\":\"turn_end\"}");
    assert_int_equal(len, strlen("{\"type\":\"turn_end\"}"));
    assert_non_null(strstr(pi_event_json(e, NULL), "\"role\":\"assistant\""));
    assert_non_null(strstr(pi_event_json(e, NULL), "\"toolResults\":[]"));
    event_destroy(e);
    m = message_create(ROLE_TOOL_RESULT);
    struct pi_event *start = event_message_start(m);
    e = event_message_end(m);
    message_destroy(m);
    assert_string_equal(
        pi_event_brief_json(start, NULL),
        "{\"type\":\"message_start\",\"message\":{\"role\":\"toolResult\"}}");
    assert_string_equal(
        pi_event_brief_json(e, NULL),
        "{\"type\":\"message_end\",\"message\":{\"role\":\"toolResult\"}}");
    assert_non_null(strstr(pi_event_json(e, NULL), "\"content\":[]"));
    event_destroy(start);
    event_destroy(e);
    m = message_create(ROLE_USER);
    e = event_message_end(m);
    message_destroy(m);
    assert_string_equal(pi_event_brief_json(e, NULL), pi_event_json(e, NULL));
    event_destroy(e);
    e = event_notice("info", "hello");
    assert_string_equal(pi_event_brief_json(e, NULL), pi_event_json(e, NULL));
    event_destroy(e);
}

// A face must not wait for minutes because an answer holds thousands of calls: the event
// of one costs the same, however many there are.
static void the_event_of_a_call_does_not_cost_all_calls(void **state)
{
    (void)state;
    enum { CALLS = 3000 };
    struct message m = {.role = ROLE_ASSISTANT};
    for (size_t i = 0; i < CALLS; i++) {
        struct block *call = content_add(&m.content, BLOCK_TOOL_CALL);
        assert_non_null(call);
        call->id = strdup(i == 7 ? "seven" : "other");
        call->name = strdup("read");
        buf_adds(&call->text, "{\"path\":\"a\"}");
        call->complete = true;
    }
    clock_t start = clock();
    for (size_t i = 0; i < CALLS; i++) {
        struct llm_event end = {.type = LLM_TOOL_CALL_END, .content_index = i};
        struct pi_event *e = event_update(&end, &m);
        const char *json = pi_event_json(e, NULL);
        assert_int_equal(strstr(json, "\"id\":\"seven\"") != NULL, i == 7);
        event_destroy(e);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_true(seconds < 3);
    content_finish(&m.content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_have_the_reference_form),
        cmocka_unit_test(neighbours_merge_and_others_do_not),
        cmocka_unit_test(output_keeps_the_newest_and_counts_the_rest),
        cmocka_unit_test(tool_end_carries_content_and_details),
        cmocka_unit_test(the_brief_form_repeats_no_messages),
        cmocka_unit_test(the_event_of_a_call_does_not_cost_all_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
