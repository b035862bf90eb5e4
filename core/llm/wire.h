#pragma once

#include "base/map.h"
#include "llm/model.h"
#include "llm/provider.h"

/**
 * A wire format: how a request becomes bytes and how events of the answer become blocks.
 * Pure: no network, no files, no clock. stream.c does the rest (HTTP, SSE, retry) the
 * same for all.
 */

/** What refusals of this model's server taught; zeroed at first. See wire_learn. */
struct wire_tuning {
    bool other_max_tokens; // the other one of max_tokens and max_completion_tokens
    bool system_role;      // no role "developer"
    bool no_stream_options;
    bool no_effort;     // no fields that ask for thinking
    bool no_thinking;   // neither ask for thinking nor send any back
    bool no_images;     // a note in the place of each image
    int64_t max_tokens; // upper limit of an answer; 0 = the model's
};

/** What a format needs to know beyond the request itself. */
struct wire_input {
    const struct model *model;
    const struct llm_request *request;
    const char *api_key;          // resolved; NULL = none
    enum thinking_level thinking; // clamped
    const char *session_id;       // for cache keys; may be NULL
    struct wire_tuning tuning;
};

/** The HTTP request. */
struct wire_request {
    struct buf url;
    struct buf headers; // "Name: value" lines, LF between them: those of the format. The
                        // model's own headers, resolved, come after and win.
    struct buf body;
};

void wire_request_finish(struct wire_request *r);

/** An answer while it is decoded. Embedded first in the format's own state. */
struct wire_answer {
    struct message *message; // being built; owned by stream.c
    // Produced by the last decode or end, in order; deltas point into `bytes`. LLM_START,
    // LLM_DONE and LLM_ERROR are not among them: stream.c makes these.
    struct llm_event *events;
    size_t events_len, events_cap;
    struct buf bytes;
    bool terminal;        // the format's terminal event has come: the answer is complete
    bool over;            // nothing more can come: stop reading. Terminal without over:
                          // usage may follow, wait for it a moment (2 s)
    bool continue_turn;   // the model paused: ask again with the answer in the history
    bool failed;          // an error or a refusal instead of an answer: see error
    int http_like_status; // of the failure, for the retry policy: 529 for overloaded, 400
                          // for what another try will not mend; 0 = unknown
    struct buf error;     // words for people, or what the server sent: see error_body.h
    struct map ids;       // of all calls of the conversation
};

struct wire {
    const char *api;
    /**
     * Builds the request. The history is sanitised in here (history.h), so that whatever
     * the transcript holds becomes a valid request. PI_INVALID, PI_NOMEM.
     */
    enum pi_status (*encode)(struct wire_request *out, const struct wire_input *input,
                             struct pi_error *err);
    enum pi_status (*begin)(struct wire_answer **out, const struct wire_input *input,
                            struct message *message, struct pi_error *err);
    /**
     * One event of the stream (name may be empty), or the whole body of an answer that
     * does not stream. Unknown things are ignored. PI_NOMEM; what the server says wrong
     * is a->failed.
     */
    enum pi_status (*decode)(struct wire_answer *a, struct sv name, struct sv data,
                             struct pi_error *err);
    /**
     * The body ended, for whatever reason, or reading stopped: closes open blocks. Of an
     * answer that is not terminal no call stays complete.
     */
    enum pi_status (*end)(struct wire_answer *a, struct pi_error *err);
    void (*finish)(struct wire_answer *a);
};

extern const struct wire wire_anthropic, wire_openai_chat;

/**
 * Whether a changed request may work after this refusal (status 400 or 422): then the
 * change is in *tuning. False when there is nothing to change, or nothing new. Call it
 * with the same words only after the request was made anew.
 */
bool wire_learn(struct wire_tuning *tuning, struct sv words);

/** The format of an API's name, NULL when there is none. */
const struct wire *wire_find(const char *api);
