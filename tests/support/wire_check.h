#pragma once

// What every server demands of a request, whatever the conversation was. For fuzzing;
// a broken demand is named, "" is none.

#include <stdlib.h>
#include <string.h>

#include "llm/wire.h"

static inline bool check_is_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n\v\f")] == '\0';
}

static inline bool check_is(const struct json *j, const char *key, const char *value)
{
    const char *text = json_get_str(j, key);
    return text && strcmp(text, value) == 0;
}

static inline size_t check_count(const struct json *list, const char *key,
                                 const char *value)
{
    size_t n = 0;
    for (const struct json *j = json_first(list); j; j = json_next(j)) {
        n += check_is(j, key, value);
    }
    return n;
}

/* -- Anthropic -- */

static inline const char *check_blocks(const struct json *blocks)
{
    if (!json_first(blocks)) {
        return "an empty message";
    }
    for (const struct json *b = json_first(blocks); b; b = json_next(b)) {
        if (check_is(b, "type", "text") && check_is_blank(json_get_str(b, "text"))) {
            return "a blank text";
        }
        if (check_is(b, "type", "tool_use") &&
            json_type(json_get(b, "input")) != JSON_OBJECT) {
            return "arguments that are no object";
        }
        if (check_is(b, "type", "tool_result") &&
            check_blocks(json_get(b, "content"))[0]) {
            return "a blank result";
        }
    }
    return "";
}

// Each call of the answer has one result at the front of the next message, and that has
// no other results.
static inline const char *check_results(const struct json *answer,
                                        const struct json *next)
{
    const struct json *calls = json_get(answer, "content");
    const struct json *results = json_get(next, "content");
    const struct json *r = json_first(results);
    bool answers = check_is(answer, "role", "assistant");
    for (const struct json *c = answers ? json_first(calls) : NULL; c; c = json_next(c)) {
        if (!check_is(c, "type", "tool_use")) {
            continue;
        }
        if (!r || !check_is(r, "type", "tool_result") ||
            !check_is(r, "tool_use_id", json_get_str(c, "id"))) {
            return "a call without its result";
        }
        r = json_next(r);
    }
    for (; r; r = json_next(r)) {
        if (check_is(r, "type", "tool_result")) {
            return "a result without its call";
        }
    }
    return "";
}

static inline bool check_id_twice(const struct json *messages)
{
    struct map ids = {0};
    bool twice = false;
    for (const struct json *m = json_first(messages); m; m = json_next(m)) {
        const struct json *list = json_get(m, "tool_calls");
        list = list ? list : json_get(m, "content");
        for (const struct json *b = json_first(list); b; b = json_next(b)) {
            const char *id = json_get_str(b, "id");
            twice = twice || (id && map_get(&ids, sv_of(id)));
            if (id && !map_set(&ids, sv_of(id), &ids)) {
                abort();
            }
        }
    }
    map_finish(&ids);
    return twice;
}

static inline const char *check_anthropic(const struct json *body)
{
    const struct json *messages = json_get(body, "messages");
    const struct json *first = json_first(messages), *previous = NULL;
    if (!check_is(first, "role", "user") || check_results(NULL, first)[0]) {
        return "a start that is not the user's";
    }
    for (const struct json *m = first; m; previous = m, m = json_next(m)) {
        const char *broken = check_blocks(json_get(m, "content"));
        if (broken[0]) {
            return broken;
        }
        if (previous && check_is(previous, "role", json_get_str(m, "role"))) {
            return "two messages of one role";
        }
        broken =
            previous && check_is(m, "role", "user") ? check_results(previous, m) : "";
        if (broken[0]) {
            return broken;
        }
    }
    if (!check_is(previous, "role", "user")) {
        return "an answer at the end";
    }
    return check_id_twice(messages) ? "an id twice" : "";
}

/* -- Chat Completions -- */

static inline const char *check_chat_message(const struct json *m)
{
    const struct json *calls = json_get(m, "tool_calls");
    const struct json *content = json_get(m, "content");
    bool text = json_type(content) == JSON_ARRAY ? json_first(content) != NULL
                                                 : !check_is_blank(json_str(content));
    for (const struct json *c = json_first(calls); c; c = json_next(c)) {
        struct json *arguments = NULL;
        const char *raw = json_get_str(json_get(c, "function"), "arguments");
        unsigned repairs = 0;
        bool object = json_parse(&arguments, sv_of(raw), &repairs, NULL) == PI_OK &&
                      json_type(arguments) == JSON_OBJECT && !repairs;
        json_destroy(arguments);
        if (!object) {
            return "arguments that are no object";
        }
    }
    return text || json_first(calls) ? "" : "a blank message";
}

static inline const char *check_chat(const struct json *body)
{
    const struct json *m = json_first(json_get(body, "messages"));
    if (!check_is(m, "role", "user")) {
        return "a start that is not the user's";
    }
    const char *previous = "";
    while (m) {
        const char *role = json_get_str(m, "role");
        const char *broken = check_chat_message(m);
        if (broken[0]) {
            return broken;
        }
        if (strcmp(role, previous) == 0 || strcmp(role, "tool") == 0) {
            return "messages in a wrong order";
        }
        const struct json *c = json_first(json_get(m, "tool_calls"));
        m = json_next(m);
        previous = role;
        for (; c; c = json_next(c), m = json_next(m), previous = "tool") {
            if (!check_is(m, "tool_call_id", json_get_str(c, "id")) ||
                check_chat_message(m)[0]) {
                return "a call without its result";
            }
        }
    }
    if (strcmp(previous, "assistant") == 0) {
        return "an answer at the end";
    }
    return check_id_twice(json_get(body, "messages")) ? "an id twice" : "";
}

/** Encodes the request for both formats, as the model's own and as another's, and ends
 * the program when a server would refuse one. */
static inline void check_requests(const struct llm_request *request)
{
    static const struct {
        const struct wire *wire;
        const char *(*check)(const struct json *);
    } formats[] = {{&wire_anthropic, check_anthropic}, {&wire_openai_chat, check_chat}};
    for (size_t i = 0; i < 4; i++) {
        const struct model model = {.id = i < 2 ? "m" : "other",
                                    .api = formats[i % 2].wire->api,
                                    .provider = "p",
                                    .base_url = "http://localhost:1",
                                    .input_image = true,
                                    .reasoning = true};
        const struct wire_input input = {
            .model = &model, .request = request, .thinking = THINKING_HIGH};
        struct wire_request r = {0};
        struct json *body = NULL;
        unsigned repairs = 0;
        enum pi_status status = formats[i % 2].wire->encode(&r, &input, NULL);
        if (status == PI_INVALID) {
            continue; // there is nothing to send
        }
        if (status || json_parse(&body, buf_sv(&r.body), &repairs, NULL) || repairs ||
            formats[i % 2].check(body)[0]) {
            abort();
        }
        json_destroy(body);
        wire_request_finish(&r);
    }
}
