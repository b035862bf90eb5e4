#pragma once

#include "base/json_prefix.h"
#include "llm/wire_answer.h"

/**
 * Puts the calls of a Chat Completions answer together. Servers disagree about which
 * piece belongs to which call; the order of the tests is that of call_of() in the source.
 */

struct openai_call {
    int64_t number;          // "index" of the server, -1 = none
    size_t index;            // of the message's block
    char *id;                // of the server, or NULL
    struct json_prefix scan; // of the arguments so far
};

struct openai_calls {
    struct openai_call *calls;
    size_t len, cap;
    char **tools; // names that the request declared
    size_t tools_len;
};

/** PI_NOMEM. */
enum pi_status openai_calls_init(struct openai_calls *c,
                                 const struct llm_request *request,
                                 struct pi_error *err) NODISCARD;

void openai_calls_finish(struct openai_calls *c);

/** Takes one element of "tool_calls"; false without memory. */
bool openai_calls_take(struct openai_calls *c, struct wire_answer *a,
                       const struct json *piece) NODISCARD;

/**
 * The answer is over: every call gets an id and its end is told. A call is complete when
 * its arguments are one object, but the last one never when the tokens ran out. False
 * without memory.
 */
bool openai_calls_end(struct openai_calls *c, struct wire_answer *a,
                      bool cut_off) NODISCARD;

/** The block of the call with this id of the server, NULL when there is none. */
struct block *openai_calls_find(struct openai_calls *c, struct wire_answer *a,
                                const char *id);
