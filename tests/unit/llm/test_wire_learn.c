#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/wire.h"

struct lesson {
    const char *words;
    struct wire_tuning want;
};

static const struct lesson lessons[] = {
    {"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.",
     {.other_max_tokens = true}},
    {"Unrecognized request argument supplied: max_completion_tokens",
     {.other_max_tokens = true}},
    {"max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
     {.max_tokens = 64000}},
    {"max_tokens is too large: 100000. This model supports at most 16384 completion "
     "tokens",
     {.max_tokens = 16384}},
    {"`max_completion_tokens` must be less than or equal to `8192`, the maximum value",
     {.max_tokens = 8192}},
    {"This model's maximum context length is 8192 tokens. However, you requested 4096 "
     "output tokens and your prompt contains at least 5000 input tokens",
     {.max_tokens = 8192 - 5000 - 64}},
    {"This model's maximum context length is 8192 tokens. However, you requested 9096 "
     "tokens (5000 in the messages, 4096 in the completion).",
     {.max_tokens = 8192 - 5000 - 64}},
    {"input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000",
     {.max_tokens = 200000 - 180000 - 64}},
    {"'developer' is not one of ['system', 'user']", {.system_role = true}},
    {"Unexpected message role.", {.system_role = true}},
    {"stream_options: Extra inputs are not permitted", {.no_stream_options = true}},
    {"Unknown parameter: 'reasoning_effort'", {.no_effort = true}},
    {"\"llama3\" does not support thinking", {.no_effort = true}},
    {"messages.1.content.0: Invalid `signature` in `thinking` block",
     {.no_thinking = true}},
    {"Expected `thinking` or `redacted_thinking`, but found `tool_use`",
     {.no_thinking = true}},
    {"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
     "modified",
     {.no_thinking = true}},
    {"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
     {.no_images = true}},
    {"Could not process image", {.no_images = true}},
};

static void learns_from_each_refusal_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lessons / sizeof *lessons; i++) {
        struct wire_tuning t = {0};
        if (!wire_learn(&t, sv_of(lessons[i].words)) ||
            memcmp(&t, &lessons[i].want, sizeof t) != 0) {
            fail_msg("%s", lessons[i].words);
        }
        while (wire_learn(&t, sv_of(lessons[i].words))) {
            // Other lessons in the same words are taken, too, but not for ever.
            assert_true(memcmp(&t, &lessons[i].want, sizeof t) != 0);
        }
    }
}

static void learns_nothing_from_other_words(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "bad thing",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, you requested 4096 "
        "output tokens and your prompt contains at least 9000 input tokens",
        "max_tokens: must be positive",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wire_tuning t = {0}, none = {0};
        assert_false(wire_learn(&t, sv_of(rows[i])));
        assert_memory_equal(&t, &none, sizeof t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_from_each_refusal_once),
        cmocka_unit_test(learns_nothing_from_other_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
