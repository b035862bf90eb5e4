#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * What the real servers refuse, as a table: a row is a rule, the answer to a request that
 * breaks it, and a request that does. rules_self_test() proves that each row fires.
 */

/** A request as a rule sees it. */
struct rule_request {
    const char *api;            // "anthropic-messages" or "openai-completions"
    const char *server;         // whose habits: see rules_server_known
    bool keyless;               // wants no key
    const struct json *headers; // names in lower case
    struct sv raw;              // the body as it came
    const struct json *body;    // NULL: it is not JSON
    unsigned repairs;           // enum json_repair
    const struct json *issued;  // content that the server sent before: array of arrays of
                                // blocks in the form of the API
};

struct rule {
    const char *name;
    const char *server; // only for these habits; NULL = for all
    int status;
    /**
     * Members that replace those of a good request, ' standing for "; null removes one.
     * "$headers" does the same for headers, "$issued" is what the server sent before,
     * "$raw" replaces the whole body (there ` stands for " and ~ for
     * a byte that is not UTF-8), "$pad" makes it so long, "$heavy" takes the
     * place of HEAVY in it, with zeros up to 6 MB.
     */
    const char *bad;
    /** True and words: the request breaks the rule. */
    bool (*broken)(const struct rule_request *r, struct buf *words);
};

struct rule_table {
    const char *api;
    const struct rule *rules;
    size_t len;
    /** Requests that break no rule, as `bad`; the first is what `bad` changes. */
    const char *const *good;
    size_t good_len;
};

extern const struct rule_table rules_anthropic, rules_anthropic_content, rules_chat,
    rules_chat_content;

bool rules_server_known(const char *server);

/** The rules that the request breaks, as an array of {name, status, message}. */
struct json *rules_check(const struct rule_request *r);

/** Whether every row fires and good requests pass; prints what does not. */
bool rules_self_test(void);

/* -- for the tables -- */

/** Walks the blocks of all messages whose content is a list, and those of results. */
struct block_at {
    const struct json *message, *block, *outer;
    size_t m, b;
    const char *role, *type;
    bool inner; // inside the tool_result or tool message `outer`
};
bool block_next(const struct rule_request *r, struct block_at *at);

/** Walks the messages. */
struct message_at {
    const struct json *message, *previous, *next;
    size_t m;
    const char *role;
};
bool message_next(const struct rule_request *r, struct message_at *at);

/** Appends a formatted text and returns true. */
bool say(struct buf *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool is_string(const struct json *j);
bool is_blank(const char *text); // white space only
/** The first block of a message whose content is a list, else NULL. */
const struct json *blocks_of(const struct json *message);

bool is_type(const struct json *object, const char *type); // its "type"
bool json_same(const struct json *a, const struct json *b);

/** Every character in [A-Za-z0-9_-] and not more than max of them, at least one. */
bool is_name(const char *text, size_t max);

/** The first key of object that is not in "a b c "; NULL when there is none. */
const char *strange_key(const struct json *object, const char *known);

/** What the first bytes of base64 data are: "image/png", ...; NULL = something else. */
const char *image_type(const char *base64);

/** Pixels of base64 data; false when they cannot be told. */
bool image_size(const char *base64, unsigned *width, unsigned *height);
bool is_base64(const char *text);
