#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire_fixture.h"

static struct talk talk;
static struct json *compat;

#define PNG                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                      \
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define EXPECT(key, want) talk_expect(&talk, &wire_openai_chat, key, want)

static int stop(void **state)
{
    (void)state;
    talk_finish(&talk);
    json_destroy(compat);
    compat = NULL;
    return 0;
}

static int start(void **state)
{
    stop(state);
    talk = (struct talk){
        .model = {.id = "m",
                  .api = "openai-completions",
                  .provider = "local",
                  .base_url = "http://localhost:8080/v1",
                  .input_image = true,
                  .max_tokens = 64000},
    };
    return 0;
}

static void at(const char *provider, const char *base_url)
{
    talk.model.provider = provider;
    talk.model.base_url = base_url;
}

static void set_compat(const char *text)
{
    json_destroy(compat);
    compat = NULL;
    assert_int_equal(json_parse(&compat, sv_of(text), NULL, NULL), PI_OK);
    talk.model.compat = compat;
}

static void tell_with_result(void)
{
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "call_1", "read", "{\"p\": 1}");
    talk_result(&talk, "call_1", "r");
}

#define ANSWER                                                                           \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\","       \
    "\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"p\\\": " \
    "1}\"}}]}"
#define RESULT "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"r\"}"

static void writes_the_conversation(void **state)
{
    (void)state;
    talk.system_prompt = "be good";
    tell_with_result();
    struct message *m = talk_answer(&talk);
    talk_text(m, "one");
    talk_text(m, "two");
    talk_user(&talk, "b");
    talk_user(&talk, "c");
    EXPECT("messages",
           "[{\"role\":\"system\",\"content\":\"be good\"},{\"role\":\"user\","
           "\"content\":\"a\"}," ANSWER "," RESULT
           ",{\"role\":\"assistant\",\"content\":\"one\\ntwo\"},{\"role\":"
           "\"user\",\"content\":\"b\\nc\"}]");
}

static void images_of_results_follow_all_results(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "x", "read", "{}");
    talk_call(m, "y", "read", "{}");
    talk_image(talk_result(&talk, "x", NULL), "image/png", PNG);
    talk_result(&talk, "y", "r");
    talk_user(&talk, "b");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    const char *tail = strstr(messages, "{\"role\":\"tool\"");
    assert_string_equal(
        tail,
        "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"(see attached "
        "image)\"},{\"role\":\"tool\",\"tool_call_id\":\"y\",\"content\":\"r\"},{"
        "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Images of the "
        "results above:\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:"
        "image/png;base64," PNG "\"}},{\"type\":\"text\",\"text\":\"b\"}]}]");
    free(messages);
}

static void images_of_the_user_are_parts(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    talk_text(m, "look");
    talk_image(m, "image/png", PNG);
    EXPECT("messages",
           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"look\"},{"
           "\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64," PNG
           "\"}}]}]");
}

static void tools_are_functions_or_absent(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    EXPECT("tools", "(none)");
    talk_tool(&talk, "read");
    EXPECT("tools", "[{\"type\":\"function\",\"function\":{\"name\":\"read\","
                    "\"description\":\"does it\",\"parameters\":{\"type\":\"object\","
                    "\"properties\":{}}}}]");
    set_compat("{\"supportsStrictMode\":true}");
    EXPECT("tools", "[{\"type\":\"function\",\"function\":{\"name\":\"read\","
                    "\"description\":\"does it\",\"parameters\":{\"type\":\"object\","
                    "\"properties\":{}},\"strict\":false}}]");
    talk.tools_len = 0;
    talk_call(talk_answer(&talk), "x", "ls", "{}");
    char *tools = talk_member(&talk, &wire_openai_chat, "tools");
    assert_non_null(strstr(tools, "\"name\":\"ls\""));
    free(tools);
}

static void unknown_servers_get_the_plain_form(void **state)
{
    (void)state;
    talk.model.reasoning = true;
    talk.input.thinking = THINKING_HIGH;
    talk.input.session_id = "s";
    talk.system_prompt = "be good";
    talk_user(&talk, "a");
    static const char *const absent[] = {"store",
                                         "max_completion_tokens",
                                         "reasoning_effort",
                                         "prompt_cache_key",
                                         "parallel_tool_calls",
                                         "temperature"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        EXPECT(absent[i], "(none)");
    }
    EXPECT("max_tokens", "32000");
    EXPECT("stream", "true");
    EXPECT("stream_options", "{\"include_usage\":true}");
}

static void each_server_gets_what_it_knows(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *base_url, *key, *want;
    } rows[] = {
        {"openai", "https://api.openai.com/v1", "max_completion_tokens", "32000"},
        {"openai", "https://api.openai.com/v1", "max_tokens", "(none)"},
        {"openai", "https://api.openai.com/v1", "store", "false"},
        {"openai", "https://api.openai.com/v1", "reasoning_effort", "\"minimal\""},
        {"openai", "https://api.openai.com/v1", "prompt_cache_key", "\"s\""},
        {"openai", "https://proxy.example.com/v1", "max_tokens", "32000"},
        {"openai", "https://proxy.example.com/v1", "store", "(none)"},
        {"azure", "https://x.openai.azure.com/openai/v1", "max_completion_tokens",
         "32000"},
        {"ollama", "http://localhost:11434/v1", "max_tokens", "32000"},
        {"ollama", "http://localhost:11434/v1", "reasoning_effort", "\"low\""},
        {"groq", "https://api.groq.example.com/v1", "reasoning_effort", "\"low\""},
        {"openrouter", "https://openrouter.example.com/v1", "reasoning",
         "{\"effort\":\"low\"}"},
        {"deepseek", "https://x.example.com", "thinking", "{\"type\":\"enabled\"}"},
        {"deepseek", "https://x.example.com", "reasoning_effort", "\"low\""},
        {"mistral", "https://x.example.com", "stream_options", "(none)"},
        {"mistral", "https://x.example.com", "max_tokens", "32000"},
        {"mistral", "https://x.example.com", "reasoning_effort", "(none)"},
        {"xai", "https://x.example.com", "reasoning_effort", "(none)"},
        {"zai", "https://x.example.com", "enable_thinking", "true"},
        {"moonshotai", "https://x.example.com", "reasoning_effort", "(none)"},
        {"moonshotai", "https://x.example.com", "max_tokens", "32000"},
        {"lmstudio", "http://localhost:1234/v1", "reasoning_effort", "(none)"},
    };
    talk.model.reasoning = true;
    talk.input.thinking = THINKING_MINIMAL;
    talk.input.session_id = "s";
    talk_user(&talk, "a");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        at(rows[i].provider, rows[i].base_url);
        EXPECT(rows[i].key, rows[i].want);
    }
}

static void thinking_can_be_switched_off(void **state)
{
    (void)state;
    talk.model.reasoning = true;
    talk_user(&talk, "a");
    at("openai", "https://api.openai.com/v1");
    EXPECT("reasoning_effort", "(none)");
    talk.model.thinking_values[THINKING_OFF] = "none";
    EXPECT("reasoning_effort", "\"none\"");
    talk.model.thinking_values[THINKING_OFF] = NULL;
    at("openrouter", "https://x.example.com");
    EXPECT("reasoning", "{\"effort\":\"none\"}");
    talk.model.thinking_unsupported[THINKING_OFF] = true;
    EXPECT("reasoning", "(none)");
    at("deepseek", "https://x.example.com");
    EXPECT("thinking", "{\"type\":\"disabled\"}");
    EXPECT("reasoning_effort", "(none)");
    set_compat("{\"thinkingFormat\":\"qwen-chat-template\"}");
    EXPECT("chat_template_kwargs",
           "{\"enable_thinking\":false,\"preserve_thinking\":true}");
    talk.model.reasoning = false;
    EXPECT("chat_template_kwargs", "(none)");
}

static void only_openai_has_developers(void **state)
{
    (void)state;
    talk.system_prompt = "s";
    talk_user(&talk, "a");
    at("openai", "https://api.openai.com/v1");
    EXPECT("messages", "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\","
                       "\"content\":\"a\"}]");
    talk.model.reasoning = true;
    EXPECT("messages", "[{\"role\":\"developer\",\"content\":\"s\"},{\"role\":\"user\","
                       "\"content\":\"a\"}]");
    talk.input.tuning.system_role = true;
    EXPECT("messages", "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\","
                       "\"content\":\"a\"}]");
}

static void refusals_are_learned_from(void **state)
{
    (void)state;
    talk.model.reasoning = true;
    talk.input.thinking = THINKING_HIGH;
    talk_user(&talk, "a");
    talk.input.tuning.other_max_tokens = true;
    EXPECT("max_tokens", "(none)");
    EXPECT("max_completion_tokens", "32000");
    at("openai", "https://api.openai.com/v1");
    EXPECT("max_tokens", "32000");
    EXPECT("reasoning_effort", "\"high\"");
    talk.input.tuning =
        (struct wire_tuning){.no_effort = true, .no_stream_options = true};
    EXPECT("reasoning_effort", "(none)");
    EXPECT("stream_options", "(none)");
}

/* -- what comes back -- */

static void tell_thinking(const char *field)
{
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "hm", field);
    talk_text(m, "b");
    talk_text(talk_answer(&talk), "c");
    talk_user(&talk, "d");
}

static void thinking_comes_back_only_where_it_is_wanted(void **state)
{
    (void)state;
    tell_thinking("reasoning");
    EXPECT("messages",
           "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
           "\"b\"},{\"role\":\"user\",\"content\":\"Continue.\"},{\"role\":\"assistant\","
           "\"content\":\"c\"},{\"role\":\"user\",\"content\":\"d\"}]");
    static const struct {
        const char *provider, *field, *first, *second;
    } rows[] = {
        {"deepseek", "reasoning_content", ",\"reasoning_content\":\"hm\"",
         ",\"reasoning_content\":\"\""},
        {"deepseek", "reasoning", ",\"reasoning_content\":\"hm\"",
         ",\"reasoning_content\":\"\""},
        {"moonshotai", "reasoning_content", ",\"reasoning_content\":\"hm\"", ""},
        {"moonshotai", "reasoning", ",\"reasoning\":\"hm\"", ""},
        {"moonshotai", "odd", ",\"reasoning_content\":\"hm\"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[500];
        start(NULL);
        at(rows[i].provider, "https://x.example.com");
        tell_thinking(rows[i].field);
        snprintf(want, sizeof want,
                 "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
                 "\"content\":\"b\"%s},{\"role\":\"user\",\"content\":\"Continue.\"},{"
                 "\"role\":\"assistant\",\"content\":\"c\"%s},{\"role\":\"user\","
                 "\"content\":\"d\"}]",
                 rows[i].first, rows[i].second);
        EXPECT("messages", want);
    }
}

static void a_local_gpt_oss_gets_its_thinking_back(void **state)
{
    (void)state;
    talk.model.id = "gpt-oss-20b";
    tell_thinking("reasoning_content");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages, "\"reasoning_content\":\"hm\""));
    free(messages);
}

static void thinking_may_come_back_as_text(void **state)
{
    (void)state;
    set_compat("{\"requiresThinkingAsText\":true}");
    tell_thinking("reasoning_content");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages, "\"content\":\"hm\\nb\""));
    free(messages);
}

static void what_was_kept_with_a_call_comes_back(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "x", "read", "{}")->signature =
        strdup("{\"extra_content\":{\"google\":{\"thought_signature\":\"S\"}}}");
    talk_call(m, "y", "read", "{}")->signature =
        strdup("{\"type\":\"reasoning.encrypted\",\"data\":\"D\"}");
    talk_call(m, "z", "read", "{}")->signature = strdup("no JSON");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages,
                           "\"arguments\":\"{}\"},\"extra_content\":{\"google\":"
                           "{\"thought_signature\":\"S\"}}}"));
    assert_null(strstr(messages, "reasoning_details"));
    free(messages);
    set_compat("{\"thinkingFormat\":\"openrouter\"}");
    messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages, "\"reasoning_details\":[{\"type\":"
                                     "\"reasoning.encrypted\",\"data\":\"D\"}]"));
    free(messages);
}

/* -- servers -- */

static void mistral_wants_short_ids_and_an_answer_after_results(void **state)
{
    (void)state;
    at("mistral", "https://x.example.com");
    tell_with_result();
    talk_user(&talk, "b");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    const char *id = strstr(messages, "\"id\":\"");
    assert_non_null(id);
    assert_int_equal(strcspn(id + 6, "\""), 9);
    assert_non_null(strstr(messages, "\"content\":\"\",\"tool_calls\""));
    assert_non_null(strstr(messages, "\"content\":\"r\"},{\"role\":\"assistant\","
                                     "\"content\":\"I have read the results.\"},{"
                                     "\"role\":\"user\""));
    free(messages);
}

static void kimi_gets_its_ids_exactly(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "functions.read:0", "read", "{}");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages, "\"tool_call_id\":\"functions.read:0\""));
    free(messages);
}

static void anthropic_behind_a_router_gets_marks(void **state)
{
    (void)state;
    at("openrouter", "https://x.example.com");
    talk.model.id = "anthropic/claude-x";
    talk.system_prompt = "s";
    talk_tool(&talk, "read");
    talk_user(&talk, "a");
    EXPECT(
        "messages",
        "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"s\","
        "\"cache_control\":{\"type\":\"ephemeral\"}}]},{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"ephemeral\"}}]}"
        "]");
    char *tools = talk_member(&talk, &wire_openai_chat, "tools");
    assert_non_null(strstr(tools, "\"cache_control\""));
    free(tools);
}

static void compat_overrides_one_by_one(void **state)
{
    (void)state;
    static const struct {
        const char *compat, *key, *want;
    } rows[] = {
        {"{\"supportsStore\":false}", "store", "(none)"},
        {"{\"supportsReasoningEffort\":false}", "reasoning_effort", "(none)"},
        {"{\"supportsReasoningEffort\":false}", "store", "false"},
        {"{\"supportsUsageInStreaming\":false}", "stream_options", "(none)"},
        {"{\"supportsUsageInStreaming\":true}", "stream_options",
         "{\"include_usage\":true}"},
        {"{\"maxTokensField\":\"max_tokens\"}", "max_tokens", "32000"},
        {"{\"thinkingFormat\":\"zai\"}", "enable_thinking", "true"},
        {"{\"thinkingFormat\":\"unheard of\"}", "reasoning_effort", "\"high\""},
        {"{\"zaiToolStream\":true}", "tool_stream", "true"},
        {"{\"openRouterRouting\":{\"only\":[\"x\"]}}", "provider", "{\"only\":[\"x\"]}"},
        {"{\"vercelGatewayRouting\":{\"only\":[\"x\"]}}", "providerOptions",
         "{\"gateway\":{\"only\":[\"x\"]}}"},
        {"{\"supportsStore\":\"yes\"}", "store", "false"},
    };
    talk.model.reasoning = true;
    talk.input.thinking = THINKING_HIGH;
    at("openai", "https://api.openai.com/v1");
    talk_user(&talk, "a");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_compat(rows[i].compat);
        EXPECT(rows[i].key, rows[i].want);
    }
    stop(NULL);
    tell_with_result();
    talk_user(&talk, "b");
    set_compat(
        "{\"requiresToolResultName\":true,\"requiresAssistantAfterToolResult\":true,"
        "\"requiresReasoningContentOnAssistantMessages\":true}");
    char *messages = talk_member(&talk, &wire_openai_chat, "messages");
    assert_non_null(strstr(messages, "\"name\":\"read\",\"content\":\"r\""));
    assert_non_null(strstr(messages, "I have read the results."));
    assert_non_null(strstr(messages, "\"reasoning_content\":\"\""));
    free(messages);
}

static void the_key_is_sent_only_when_there_is_one(void **state)
{
    (void)state;
    struct wire_request r;
    talk_user(&talk, "a");
    talk_encode(&r, &talk, &wire_openai_chat);
    assert_null(strstr(buf_cstr(&r.headers), "authorization"));
    wire_request_finish(&r);
    talk.input.api_key = "k";
    talk.input.session_id = "s";
    set_compat("{\"sendSessionAffinityHeaders\":true}");
    talk_encode(&r, &talk, &wire_openai_chat);
    assert_non_null(strstr(buf_cstr(&r.headers), "\nauthorization: Bearer k\n"));
    assert_non_null(strstr(buf_cstr(&r.headers), "\nx-session-affinity: s"));
    wire_request_finish(&r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(writes_the_conversation),
        TEST(images_of_results_follow_all_results),
        TEST(images_of_the_user_are_parts),
        TEST(tools_are_functions_or_absent),
        TEST(unknown_servers_get_the_plain_form),
        TEST(each_server_gets_what_it_knows),
        TEST(thinking_can_be_switched_off),
        TEST(only_openai_has_developers),
        TEST(refusals_are_learned_from),
        TEST(thinking_comes_back_only_where_it_is_wanted),
        TEST(a_local_gpt_oss_gets_its_thinking_back),
        TEST(thinking_may_come_back_as_text),
        TEST(what_was_kept_with_a_call_comes_back),
        TEST(mistral_wants_short_ids_and_an_answer_after_results),
        TEST(kimi_gets_its_ids_exactly),
        TEST(anthropic_behind_a_router_gets_marks),
        TEST(compat_overrides_one_by_one),
        TEST(the_key_is_sent_only_when_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
