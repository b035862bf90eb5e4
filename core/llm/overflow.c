#include "llm/overflow.h"

#include <stddef.h>
#include <strings.h>

enum { PARTS = 2 };

// An error is an overflow when all parts of one row stand in its text, in this order.
static const char *const signatures[][PARTS] = {
    {"prompt is too long"},
    {"request_too_large"},
    {"input is too long for requested model"},
    {"exceeds the context window"},
    {"maximum context length is "},
    {"maximum context length of "},
    {"context_length_exceeded"},
    {"context length exceeded"},
    {"input token count", "exceeds the maximum"},
    {"maximum prompt length is "},
    {"reduce the length of the messages"},
    {"exceeds the maximum allowed input length"},
    {"exceeds", "maximum context length"},
    {"context window exceeded"},
    {"context window exceeds limit"},
    {"exceeds the available context size"},
    {"exceed_context_size_error"},
    {"context shift is disabled"},
    {"greater than the context length"},
    {"trying to keep the first", "tokens when context"},
    {"context size has been exceeded"},
    {"prompt too long; exceeded"},
    {"no user query found in messages"}, // a template after the front was cut off
    {"prompt token count of", "exceeds the limit of"},
    {"too large for model with", "maximum context length"},
    {"longer than the model's context length"},
    {"model_context_window_exceeded"},
    {"prompt exceeds max length"},
    {"range of input length should be"},
    {"exceeded model token limit"},
    {"too many tokens"},
    {"token limit exceeded"},
};

// The same words about tokens a minute.
static const char *const exclusions[] = {
    "rate limit", "rate_limit", "too many requests", "throttl", "service unavailable",
};

static size_t find(struct sv text, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (strncasecmp(text.p + i, part, n) == 0) {
            return i + n;
        }
    }
    return 0;
}

static bool has_signature(struct sv text, const char *const *parts)
{
    for (size_t i = 0; i < PARTS && parts[i]; i++) {
        size_t end = find(text, parts[i]);
        if (end == 0) {
            return false;
        }
        text = sv_from(text, end);
    }
    return true;
}

bool overflow_is(int status, struct sv words, struct sv kind)
{
    if (status == 429) {
        return false;
    }
    for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++) {
        if (find(words, exclusions[i]) || find(kind, exclusions[i])) {
            return false;
        }
    }
    if (status == 413 || (status == 400 && words.n == 0 && kind.n == 0)) {
        return true; // some servers say no more than that
    }
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        if (has_signature(words, signatures[i]) || has_signature(kind, signatures[i])) {
            return true;
        }
    }
    return false;
}
