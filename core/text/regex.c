#define PCRE2_CODE_UNIT_WIDTH 8

#include "text/regex.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>

// A pattern that needs more on one text is given up: the user waits, and others suffer.
enum { MATCH_LIMIT = 1000000, HEAP_LIMIT_KIB = 64 * 1024 };
enum { JIT_STACK_MIN = 32 * 1024, JIT_STACK_MAX = 1024 * 1024 };

struct regex {
    pcre2_code *code;
};

struct regex_matcher {
    const struct regex *regex;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static uint32_t options_of(unsigned flags)
{
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_UCP;
    if (flags & REGEX_LITERAL) {
        options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_LITERAL;
    }
    return flags & REGEX_IGNORE_CASE ? options | PCRE2_CASELESS : options;
}

enum pi_status regex_create(struct regex **out, struct sv pattern, unsigned flags,
                            struct pi_error *err)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    struct regex *r = calloc(1, sizeof *r);
    if (!r) {
        return error_nomem(err);
    }
    PCRE2_SPTR text = (PCRE2_SPTR)(pattern.p ? pattern.p : "");
    r->code = pcre2_compile(text, pattern.n, options_of(flags), &code, &at, NULL);
    if (!r->code) {
        PCRE2_UCHAR words[200];
        free(r);
        if (pcre2_get_error_message(code, words, sizeof words) < 0) {
            words[0] = '\0';
        }
        return error_set(
            err, PI_INVALID,
            "the pattern is no regular expression: %s at byte %zu; to search for "
            "the text as it stands, set literal",
            (const char *)words, (size_t)at);
    }
    // Without machine code the search is slower and gives the same.
    (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
    *out = r;
    return PI_OK;
}

void regex_destroy(struct regex *r)
{
    if (r) {
        pcre2_code_free(r->code);
        free(r);
    }
}

enum pi_status regex_matcher_create(struct regex_matcher **out, const struct regex *r,
                                    struct pi_error *err)
{
    struct regex_matcher *m = calloc(1, sizeof *m);
    if (!m) {
        return error_nomem(err);
    }
    m->regex = r;
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    m->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
    if (!m->data || !m->context || !m->stack) {
        regex_matcher_destroy(m);
        return error_nomem(err);
    }
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_heap_limit(m->context, HEAP_LIMIT_KIB);
    pcre2_jit_stack_assign(m->context, NULL, m->stack);
    *out = m;
    return PI_OK;
}

void regex_matcher_destroy(struct regex_matcher *m)
{
    if (m) {
        pcre2_jit_stack_free(m->stack);
        pcre2_match_context_free(m->context);
        pcre2_match_data_free(m->data);
        free(m);
    }
}

enum pi_status regex_search(struct regex_matcher *m, struct sv text, size_t from,
                            struct regex_match *match, struct pi_error *err)
{
    PCRE2_SPTR bytes = (PCRE2_SPTR)(text.p ? text.p : "");
    int rc = pcre2_match(m->regex->code, bytes, text.n, from, 0, m->data, m->context);
    if (rc == PCRE2_ERROR_NOMATCH) {
        return PI_NOT_FOUND;
    }
    if (rc == PCRE2_ERROR_NOMEMORY) {
        return error_nomem(err);
    }
    if (rc < 0) {
        return error_set(err, PI_LIMIT,
                         "the pattern is too complex for this text; write it with fewer "
                         "nested repetitions");
    }
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(m->data);
    *match = (struct regex_match){.start = range[0], .end = range[1]};
    return PI_OK;
}
