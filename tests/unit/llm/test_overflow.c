#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/overflow.h"

static void every_servers_words_are_known(void **state)
{
    (void)state;
    static const char *const words[] = {
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Request_too_large: Request exceeds the maximum size",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model.",
        "This model's maximum context length is 128000 tokens. However, your messages "
        "resulted in 130000 tokens.",
        "The input token count (1196265) exceeds the maximum number of tokens allowed",
        "This model's maximum prompt length is 131072 but the request contains 537812",
        "Please reduce the length of the messages or completion.",
        "This endpoint's maximum context length is 8192 tokens. However, you requested",
        "the input (90000 tokens) exceeds the maximum allowed input length",
        "the prompt exceeds the model's maximum context length",
        "Context window exceeded for model",
        "the request exceeds the available context size, try increasing it",
        "context shift is disabled",
        "The number of tokens to keep from the initial prompt is greater than the "
        "context "
        "length",
        "Trying to keep the first 9000 tokens when context the overflows",
        "Context size has been exceeded.",
        "prompt too long; exceeded max context length by 17 tokens",
        "no user query found in messages",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Prompt contains 9 tokens: too large for model with 32768 maximum context length",
        "Input (9) is longer than the model's context length (8)",
        "Prompt exceeds max length",
        "Range of input length should be [1, 129024]",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 262144",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!overflow_is(400, sv_of(words[i]), (struct sv){0})) {
            fail_msg("%s", words[i]);
        }
        assert_true(overflow_is(0, sv_of(words[i]), (struct sv){0}));
        assert_false(overflow_is(429, sv_of(words[i]), (struct sv){0}));
    }
    static const char *const kinds[] = {"context_length_exceeded",
                                        "exceed_context_size_error",
                                        "model_context_window_exceeded"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_true(overflow_is(400, sv_of("oh"), sv_of(kinds[i])));
    }
    assert_true(overflow_is(413, sv_of("anything"), (struct sv){0}));
    assert_true(overflow_is(400, (struct sv){0}, (struct sv){0}));
}

static void other_refusals_are_none(void **state)
{
    (void)state;
    static const char *const words[] = {
        "Rate limit reached: too many tokens per minute",
        "Too many requests: maximum context length is 9",
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "Service unavailable: token limit exceeded",
        "max_tokens: 999999 > 64000, which is the maximum allowed number of output "
        "tokens",
        "messages: roles must alternate",
        "exceeds the limit of your plan",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (overflow_is(400, sv_of(words[i]), (struct sv){0})) {
            fail_msg("%s", words[i]);
        }
    }
    assert_false(overflow_is(500, (struct sv){0}, (struct sv){0}));
    assert_false(overflow_is(0, (struct sv){0}, (struct sv){0}));
    assert_false(overflow_is(400, sv_of("maximum context length is 9"),
                             sv_of("rate_limit_error")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_servers_words_are_known),
        cmocka_unit_test(other_refusals_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
