#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "oom.h"
#include "wire_fixture.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once: it must be told, and all memory given back (the address
// sanitizer looks).

#define GIF "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="

static struct talk talk;

static void tell(const struct wire *wire, const char *provider)
{
    talk = (struct talk){
        .model = {.id = "anthropic/m",
                  .api = wire->api,
                  .provider = provider,
                  .base_url = "https://x.test",
                  .reasoning = true,
                  .input_image = true,
                  .auth_header = true},
        .system_prompt = "be good",
        .input = {.api_key = "k", .thinking = THINKING_HIGH, .session_id = "s"},
    };
    talk_user(&talk, "a\xff");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "hm", "reasoning");
    talk_text(m, "b");
    talk_call(m, "functions.x:1", "re ad", "{\"a\":\"\\d\"}")->signature =
        strdup("{\"extra_content\":{}}");
    talk_call(m, "y", "ls", "\"{}\"")->signature = strdup("{\"type\":\"t\"}");
    talk_image(talk_result(&talk, "functions.x:1", "r"), "image/gif", GIF);
    talk_text(talk_answer(&talk), "c");
    talk_request(&talk);
}

static void encoding_tells_when_memory_is_missing(void **state)
{
    (void)state;
    static const struct {
        const struct wire *wire;
        const char *provider;
    } rows[] = {
        {&wire_anthropic, "anthropic"},
        {&wire_openai_chat, "openrouter"},
        {&wire_openai_chat, "deepseek"},
        {&wire_openai_chat, "mistral"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tell(rows[i].wire, rows[i].provider);
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            struct wire_request r;
            struct pi_error err = {0};
            oom_start(n);
            enum pi_status status = rows[i].wire->encode(&r, &talk.input, &err);
            failed = oom_stop();
            assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
            assert_true(!failed || err.message[0]);
            wire_request_finish(&r);
        }
        talk_finish(&talk);
    }
}

static enum pi_status decode_all(const struct wire *wire, const char *const *events)
{
    struct message *m = message_create(ROLE_ASSISTANT);
    struct wire_answer *a = NULL;
    enum pi_status status = m ? wire->begin(&a, &talk.input, m, NULL) : PI_NOMEM;
    for (; !status && *events; events++) {
        status = wire->decode(a, sv_of(""), sv_of(*events), NULL);
    }
    if (!status) {
        status = wire->end(a, NULL);
    }
    if (a) {
        wire->finish(a);
    }
    message_destroy(m);
    return status;
}

static void expect_told(const struct wire *wire, const char *const *events)
{
    tell(wire, "p");
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        oom_start(n);
        enum pi_status status = decode_all(wire, events);
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
    }
    talk_finish(&talk);
}

static void decoding_tells_when_memory_is_missing(void **state)
{
    (void)state;
    static const char *const anthropic[] = {
        "{\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}",
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
        "\"thinking\",\"thinking\":\"h\",\"signature\":\"s\"}}",
        "{\"type\":\"content_block_stop\",\"index\":0}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":"
        "\"tool_use\",\"id\":\"y\",\"name\":\"n\",\"input\":{\"a\":1}}}",
        "{\"type\":\"content_block_stop\",\"index\":1}",
        "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_"
        "delta\","
        "\"text\":\"t\"}}",
        "{\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":"
        "\"tool_use\"}}",
        "{\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":"
        "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\\\"\\\\d\\\"}\"}}",
        "{\"type\":\"content_block_stop\",\"index\":3}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
        "{\"type\":\"message_stop\"}",
        NULL,
    };
    static const char *const chat[] = {
        "{\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\" <think>a</think>b\"}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"r\",\"reasoning_details\":[{\"type\":"
        "\"reasoning.encrypted\",\"id\":\"y\"}]}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"y\","
        "\"function\":"
        "{\"name\":\"re\",\"arguments\":{}},\"extra_content\":{}},{\"index\":0,"
        "\"function\":{\"name\":\"ad\"}},{\"index\":1}]}}]}",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
        "[DONE]",
        NULL,
    };
    static const char *const error[] = {
        "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}",
        NULL,
    };
    static const char *const unknown[] = {
        "{\"choices\":[{\"delta\":{},\"finish_reason\":\"tired\"}]}",
        NULL,
    };
    expect_told(&wire_anthropic, anthropic);
    expect_told(&wire_openai_chat, chat);
    expect_told(&wire_anthropic, error);
    expect_told(&wire_openai_chat, error);
    expect_told(&wire_openai_chat, unknown);
}

int main(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = oom_malloc, .free_fn = free});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_tells_when_memory_is_missing),
        cmocka_unit_test(decoding_tells_when_memory_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
