#pragma once

// Requests against the rules of the mock server. For fuzzing: the program ends when a
// rule is broken.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm/wire.h"
#include "mock_rules.h"

struct check_server {
    const char *server; // whose habits
    const char *provider, *base_url;
    const struct wire *wire;
};

// What only a server can know that has made the answers.
static inline bool check_needs_memory(const char *rule)
{
    return strcmp(rule, "signature-foreign") == 0 ||
           strcmp(rule, "thinking-changed") == 0;
}

static inline struct json *check_headers(struct sv lines)
{
    struct json *headers = json_new_object();
    for (struct sv line; sv_next_line(&lines, &line);) {
        char name[64] = "", value[256] = "";
        if (sscanf(line.p, "%63[^:]: %255[^\n]", name, value) != 2) {
            abort();
        }
        json_set_str(headers, name, value);
    }
    return headers;
}

static inline void check_request(const struct check_server *server,
                                 struct wire_request *r)
{
    struct json *body = NULL;
    unsigned repairs = 0;
    enum pi_status status = json_parse(&body, buf_sv(&r->body), &repairs, NULL);
    struct json *headers = check_headers(buf_sv(&r->headers));
    struct json *broken = rules_check(&(struct rule_request){
        .api = server->wire->api,
        .server = server->server,
        .headers = headers,
        .raw = buf_sv(&r->body),
        .body = body,
        .repairs = repairs,
    });
    for (const struct json *b = json_first(broken); b; b = json_next(b)) {
        if (!check_needs_memory(json_get_str(b, "name"))) {
            fprintf(stderr, "%s, %s: %s\n%s\n", server->provider, json_get_str(b, "name"),
                    json_get_str(b, "message"), buf_cstr(&r->body));
            abort();
        }
    }
    if (status || repairs) {
        abort();
    }
    json_destroy(broken);
    json_destroy(headers);
    json_destroy(body);
}

/** Encodes the request for several servers, as the model's own and as another's. */
static inline void check_requests(const struct llm_request *request)
{
    static const struct check_server servers[] = {
        {"compatible", "p", "http://localhost:1", &wire_anthropic},
        {"compatible", "p", "http://localhost:1", &wire_openai_chat},
        {"openai", "p", "https://api.openai.com", &wire_openai_chat},
        {"mistral", "mistral", "http://localhost:1", &wire_openai_chat},
        {"deepseek", "deepseek", "http://localhost:1", &wire_openai_chat},
    };
    static const char *const ids[] = {"m", "claude-haiku-4-5", "claude-opus-4-6"};
    for (size_t i = 0; i < 15; i++) {
        const struct check_server *server = &servers[i / 3];
        const struct model model = {.id = ids[i % 3],
                                    .api = server->wire->api,
                                    .provider = server->provider,
                                    .base_url = server->base_url,
                                    .input_image = true,
                                    .reasoning = true};
        const struct wire_input input = {.model = &model,
                                         .request = request,
                                         .api_key = "k",
                                         .thinking = THINKING_HIGH};
        struct wire_request r = {0};
        enum pi_status status = server->wire->encode(&r, &input, NULL);
        if (status == PI_OK) {
            check_request(server, &r);
        } else if (status != PI_INVALID) {
            abort(); // PI_INVALID: there is nothing to send
        }
        wire_request_finish(&r);
    }
}
