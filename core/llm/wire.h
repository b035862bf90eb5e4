#pragma once

#include "llm/model.h"
#include "llm/provider.h"

/**
 * A wire format: how a request becomes bytes and how events of the answer become blocks.
 * Pure: no network, no files, no clock. stream.c does the rest (HTTP, SSE, retry) the
 * same for all.
 */

/** What a format needs to know beyond the request itself. */
struct wire_input {
    const struct model *model;
    const struct llm_request *request;
    const char *api_key;          // resolved; NULL = none
    enum thinking_level thinking; // clamped
    const char *session_id;       // for cache keys
};

/** The HTTP request. */
struct wire_request {
    struct buf url;
    struct buf headers; // "Name: value" lines, LF between them
    struct buf body;
};

void wire_request_finish(struct wire_request *r);

/** An answer while it is decoded. Embedded first in the format's own state. */
struct wire_answer {
    struct message *message; // being built; owned by stream.c
    struct llm_event
        *events; // produced by the last decode, in order; deltas point into `bytes`
    size_t events_len, events_cap;
    struct buf bytes;
    bool terminal;        // the format's terminal event has come: the answer is complete
    bool failed;          // the server sent an error instead: see error
    int http_like_status; // of an error inside the stream (529 for overloaded); 0 = none
    struct buf error;     // words of the server, for people
};

struct wire {
    const char *api;
    /** Builds the request from the (already sanitised) history. PI_INVALID, PI_NOMEM. */
    enum pi_status (*encode)(struct wire_request *out, const struct wire_input *input,
                             struct pi_error *err);
    enum pi_status (*begin)(struct wire_answer **out, const struct wire_input *input,
                            struct message *message, struct pi_error *err);
    /** One event of the stream (name may be empty). Unknown things are ignored. */
    enum pi_status (*decode)(struct wire_answer *a, struct sv name, struct sv data,
                             struct pi_error *err);
    /** The body ended: a last look (usage after the terminal event, a missing blank
     * line). */
    enum pi_status (*end)(struct wire_answer *a, struct pi_error *err);
    void (*finish)(struct wire_answer *a);
};

extern const struct wire wire_anthropic, wire_openai_chat;
