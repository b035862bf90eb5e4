#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire_fixture.h"

static struct talk talk;

#define PNG                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                      \
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"
#define EXPECT(key, want) talk_expect(&talk, &wire_anthropic, key, want)

static int start(void **state)
{
    (void)state;
    talk_finish(&talk);
    talk = (struct talk){
        .model = {.id = "claude-haiku-4-5",
                  .api = "anthropic-messages",
                  .provider = "anthropic",
                  .base_url = "https://api.anthropic.com",
                  .reasoning = true,
                  .input_image = true,
                  .context_window = 200000,
                  .max_tokens = 64000},
        .input = {.api_key = "sk-1"},
    };
    return 0;
}

static int stop(void **state)
{
    (void)state;
    talk_finish(&talk);
    return 0;
}

static void writes_the_conversation(void **state)
{
    (void)state;
    talk_user(&talk, "look");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "hm", "Eq=");
    talk_thinking(m, "", "Em=")->redacted = true;
    talk_text(m, "I look");
    talk_call(m, "t1", "read", "{\"path\": \"a\"}");
    talk_call(m, "t2", "read", "{}");
    talk_result(&talk, "t1", "text")->is_error = true;
    talk_image(talk_result(&talk, "t2", "png"), "image/png", PNG);
    EXPECT(
        "messages",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"look\"," MARK
        "}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
        "\"hm\",\"signature\":\"Eq=\"},{\"type\":\"redacted_thinking\",\"data\":\"Em="
        "\"},{\"type\":\"text\",\"text\":\"I look\"},{\"type\":\"tool_use\",\"id\":"
        "\"t1\",\"name\":\"read\",\"input\":{\"path\":\"a\"}},{\"type\":\"tool_use\","
        "\"id\":\"t2\",\"name\":\"read\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
        "\"t1\",\"content\":[{\"type\":\"text\",\"text\":\"text\"}],\"is_error\":true},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":[{\"type\":"
        "\"text\",\"text\":\"png\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
        "\"media_type\":\"image/png\",\"data\":\"" PNG "\"}}]," MARK "}]}]");
}

static void results_and_what_follows_are_one_message(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "t", "read", "{}");
    talk_result(&talk, "t", "r");
    talk_user(&talk, "b");
    EXPECT("messages",
           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"," MARK
           "}]},"
           "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","
           "\"name\":\"read\",\"input\":{}}]},"
           "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
           "\"t\",\"content\":[{\"type\":\"text\",\"text\":\"r\"}]},{\"type\":\"text\","
           "\"text\":\"b\"," MARK "}]}]");
}

static void tools_that_are_gone_are_declared(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    EXPECT("tools", "(none)");
    talk_call(talk_answer(&talk), "t", "ls", "{}");
    EXPECT("tools",
           "[{\"name\":\"ls\",\"description\":\"No longer available.\","
           "\"input_schema\":{\"type\":\"object\",\"properties\":{}}," MARK "}]");
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) {
        n++;
    }
    return n;
}

static void there_are_at_most_four_marks(void **state)
{
    (void)state;
    struct wire_request r;
    talk.system_prompt = "be good";
    talk_tool(&talk, "read");
    talk_tool(&talk, "bash");
    for (int i = 0; i < 5; i++) {
        talk_user(&talk, "a");
        talk_text(talk_answer(&talk), "b");
    }
    talk_user(&talk, "z");
    talk_encode(&r, &talk, &wire_anthropic);
    assert_int_equal(count(buf_cstr(&r.body), "cache_control"), 4);
    wire_request_finish(&r);
    EXPECT("system", "[{\"type\":\"text\",\"text\":\"be good\"," MARK "}]");
    EXPECT(
        "tools",
        "[{\"name\":\"read\",\"description\":\"does it\",\"input_schema\":{\"type\":"
        "\"object\",\"properties\":{}}},{\"name\":\"bash\",\"description\":\"does it\","
        "\"input_schema\":{\"type\":\"object\",\"properties\":{}}," MARK "}]");
}

// The body without its marks, up to the end of the messages.
static char *unmarked(void)
{
    struct wire_request r;
    struct buf out = {0};
    talk_encode(&r, &talk, &wire_anthropic);
    const char *rest = buf_cstr(&r.body);
    for (const char *mark; (mark = strstr(rest, "," MARK));
         rest = mark + strlen("," MARK)) {
        buf_add(&out, rest, (size_t)(mark - rest));
    }
    buf_adds(&out, rest);
    assert_true(out.len > 2 && strcmp(out.data + out.len - 2, "]}") == 0);
    buf_truncate(&out, out.len - 2);
    wire_request_finish(&r);
    return buf_take(&out);
}

static void each_request_begins_with_the_one_before(void **state)
{
    (void)state;
    talk.system_prompt = "be good";
    talk_tool(&talk, "read");
    talk.input.thinking = THINKING_HIGH;
    talk_user(&talk, "a");
    char *before = unmarked();
    for (int i = 0; i < 8; i++) {
        struct message *m = talk_answer(&talk);
        talk_thinking(m, "hm", "S");
        talk_call(m, i % 2 ? "same" : "functions.read:0", "read", "{\"n\": 1e2}");
        talk_result(&talk, i % 2 ? "same" : "functions.read:0", i % 3 ? "r" : "");
        char *after = unmarked();
        assert_int_equal(strncmp(before, after, strlen(before)), 0);
        char *again = unmarked();
        assert_string_equal(after, again);
        free(again);
        free(before);
        before = after;
    }
    free(before);
}

/* -- thinking and limits -- */

static void asks_for_thinking_as_the_model_wants(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        enum thinking_level level;
        const char *thinking, *effort, *max_tokens;
    } rows[] = {
        {"claude-haiku-4-5", THINKING_OFF, "{\"type\":\"disabled\"}", "(none)", "32000"},
        {"claude-haiku-4-5", THINKING_MINIMAL,
         "{\"type\":\"enabled\",\"budget_tokens\":1024}", "(none)", "33024"},
        {"claude-3-7-sonnet-20250219", THINKING_HIGH,
         "{\"type\":\"enabled\",\"budget_tokens\":16384}", "(none)", "48384"},
        {"claude-sonnet-4-20250514", THINKING_LOW,
         "{\"type\":\"enabled\",\"budget_tokens\":2048}", "(none)", "34048"},
        {"claude-sonnet-4-6", THINKING_OFF, "{\"type\":\"disabled\"}", "(none)", "32000"},
        {"claude-sonnet-4-6", THINKING_MINIMAL,
         "{\"type\":\"adaptive\",\"display\":\"summarized\"}", "{\"effort\":\"low\"}",
         "32000"},
        {"claude-opus-4-7-20260101", THINKING_MEDIUM,
         "{\"type\":\"adaptive\",\"display\":\"summarized\"}", "{\"effort\":\"medium\"}",
         "32000"},
        {"anthropic/claude-opus-4.8", THINKING_HIGH,
         "{\"type\":\"adaptive\",\"display\":\"summarized\"}", "{\"effort\":\"high\"}",
         "32000"},
        {"claude-opus-5-5", THINKING_XHIGH,
         "{\"type\":\"adaptive\",\"display\":\"summarized\"}", "{\"effort\":\"max\"}",
         "32000"},
        {"claude-opus-5-5", THINKING_OFF, "(none)", "(none)", "32000"},
        {"qwen3", THINKING_LOW, "{\"type\":\"enabled\",\"budget_tokens\":2048}", "(none)",
         "34048"},
    };
    talk.model.thinking_values[THINKING_XHIGH] = "max";
    talk_user(&talk, "a");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        talk.model.id = rows[i].id;
        talk.input.thinking = rows[i].level;
        EXPECT("thinking", rows[i].thinking);
        EXPECT("output_config", rows[i].effort);
        EXPECT("max_tokens", rows[i].max_tokens);
    }
    talk.model.reasoning = false;
    EXPECT("thinking", "(none)");
}

static void a_budget_stays_below_the_limit_of_the_answer(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk.input.thinking = THINKING_HIGH;
    talk.model.max_tokens = 8192;
    EXPECT("thinking", "{\"type\":\"enabled\",\"budget_tokens\":7168}");
    EXPECT("max_tokens", "8192");
    talk.model.max_tokens = 2000;
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    EXPECT("max_tokens", "2000");
    talk.model.max_tokens = 64000;
    const int64_t budgets[THINKING_LEVELS] = {[THINKING_HIGH] = 5000};
    talk.request.thinking_budgets = budgets;
    EXPECT("thinking", "{\"type\":\"enabled\",\"budget_tokens\":5000}");
    talk.request.thinking_budgets = NULL;
}

static void a_turn_that_began_without_thinking_goes_on_without(void **state)
{
    (void)state;
    talk.input.thinking = THINKING_HIGH;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    free(m->model);
    m->model = strdup("another");
    talk_thinking(m, "hm", "S");
    talk_call(m, "t", "read", "{}");
    talk_result(&talk, "t", "r");
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    m = talk_answer(&talk);
    talk_thinking(m, "hm", "S");
    talk_call(m, "u", "read", "{}");
    talk_result(&talk, "u", "r");
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    talk_user(&talk, "said behind results");
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    talk_text(talk_answer(&talk), "c");
    talk_user(&talk, "b");
    EXPECT("thinking", "{\"type\":\"enabled\",\"budget_tokens\":16384}");
    m = talk_answer(&talk);
    talk_thinking(m, "hm", "S");
    talk_call(m, "v", "read", "{}");
    EXPECT("thinking", "{\"type\":\"enabled\",\"budget_tokens\":16384}");
}

static void the_answer_must_fit_into_the_window(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_text(m, "b");
    m->usage.total = 190000;
    talk_user(&talk, "0123456789");
    EXPECT("max_tokens", "9933");
    m->usage.total = 250000;
    EXPECT("max_tokens", "1024");
    talk.input.tuning.max_tokens = 600;
    EXPECT("max_tokens", "600");
}

static void refusals_are_learned_from(void **state)
{
    (void)state;
    talk.input.thinking = THINKING_HIGH;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "hm", "S");
    talk_text(m, "b");
    talk_image(talk_add(&talk, ROLE_USER), "image/png", PNG);
    talk.input.tuning = (struct wire_tuning){.no_thinking = true, .no_images = true};
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    EXPECT("messages",
           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"," MARK
           "}]},"
           "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},"
           "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"(an image was "
           "left out: the server refused it)\"," MARK "}]}]");
    talk.input.tuning = (struct wire_tuning){.no_effort = true};
    EXPECT("thinking", "(none)");
}

static void unsigned_thinking_goes_back_where_nobody_signs(void **state)
{
    (void)state;
    talk.model.base_url = "https://api.deepseek.com/anthropic";
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "hm", NULL);
    talk_text(m, "b");
    char *messages = talk_member(&talk, &wire_anthropic, "messages");
    assert_non_null(strstr(messages, "\"thinking\":\"hm\""));
    free(messages);
}

/* -- headers -- */

static void expect_headers(const char *want)
{
    struct wire_request r;
    talk_encode(&r, &talk, &wire_anthropic);
    assert_string_equal(buf_cstr(&r.headers), want);
    wire_request_finish(&r);
}

#define PLAIN                                                                            \
    "content-type: application/json\naccept: text/event-stream\n"                        \
    "anthropic-version: 2023-06-01"

static void the_key_stands_in_its_header(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    expect_headers(PLAIN "\nx-api-key: sk-1");
    talk.model.auth_header = true;
    expect_headers(PLAIN "\nx-api-key: sk-1\nauthorization: Bearer sk-1");
    talk.model.auth_header = false;
    talk.input.thinking = THINKING_HIGH;
    talk.input.api_key = "sk-ant-oat1";
    expect_headers(PLAIN "\nauthorization: Bearer sk-ant-oat1\nanthropic-beta: "
                         "oauth-2025-04-20,interleaved-thinking-2025-05-14");
    talk.input.api_key = NULL;
    talk.model.base_url = "http://localhost:1234";
    expect_headers(PLAIN);
    talk.input.api_key = "";
    expect_headers(PLAIN);
}

static void a_key_with_a_line_break_is_refused_and_not_shown(void **state)
{
    (void)state;
    struct wire_request r;
    struct pi_error err = {0};
    talk_user(&talk, "a");
    talk.input.api_key = "sk-secret\nx: y";
    talk_request(&talk);
    assert_int_equal(wire_anthropic.encode(&r, &talk.input, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "line break"));
    assert_null(strstr(err.message, "secret"));
    wire_request_finish(&r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(writes_the_conversation),
        TEST(results_and_what_follows_are_one_message),
        TEST(tools_that_are_gone_are_declared),
        TEST(there_are_at_most_four_marks),
        TEST(each_request_begins_with_the_one_before),
        TEST(asks_for_thinking_as_the_model_wants),
        TEST(a_budget_stays_below_the_limit_of_the_answer),
        TEST(a_turn_that_began_without_thinking_goes_on_without),
        TEST(the_answer_must_fit_into_the_window),
        TEST(refusals_are_learned_from),
        TEST(unsigned_thinking_goes_back_where_nobody_signs),
        TEST(the_key_stands_in_its_header),
        TEST(a_key_with_a_line_break_is_refused_and_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
