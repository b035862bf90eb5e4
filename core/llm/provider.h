#pragma once

#include "base/error.h"
#include "base/json.h"
#include "llm/llm.h"
#include "llm/model.h"

struct http;
struct wire_tuning;

/** A tool as the model sees it. */
struct tool_schema {
    const char *name;
    const char *description;
    const struct json *parameters;
};

/** What the model is to see. Borrowed for the duration of open(). */
struct llm_request {
    const char *system_prompt;
    struct message *const *messages;
    size_t messages_len;
    size_t failed; // answers of the conversation that failed and are not in messages
    const struct tool_schema *tools;
    size_t tools_len;

    // How to ask. What a provider does not need stays zero.
    struct http *http;          // the agent thread's connections
    const char *api_key;        // resolved; NULL = none
    const struct json *headers; // of the model, resolved: object of strings, or NULL;
                                // they win over those of the wire format
    const int64_t *thinking_budgets; // tokens for each level, 0 = the format's own; or
                                     // NULL
    bool no_images;                  // a note in the place of each image
    enum thinking_level thinking;    // supported by the model
    const char *session_id;
    struct wire_tuning *tuning; // what refusals taught about the model's server; grows
                                // until the stream is closed; NULL: nothing is learnt
    int64_t idle_timeout_ms;    // without a byte; 0 = by the address, < 0 = none
};

enum llm_event_type {
    LLM_START,
    LLM_TEXT_START,
    LLM_TEXT_DELTA,
    LLM_TEXT_END,
    LLM_THINKING_START,
    LLM_THINKING_DELTA,
    LLM_THINKING_END,
    LLM_TOOL_CALL_START,
    LLM_TOOL_CALL_DELTA,
    LLM_TOOL_CALL_END,
    LLM_DONE,  // terminal: the message is complete
    LLM_ERROR, // terminal: stop_reason and error_message of the message say why
};

const char *llm_event_name(enum llm_event_type type); // "text_delta"

struct llm_event {
    enum llm_event_type type;
    size_t content_index; // the block concerned
    struct sv delta;      // *_DELTA; borrowed until the next call on the stream
};

/** What became of an answer that failed: whether asking again may help. */
struct llm_failure {
    enum {
        FAILURE_FATAL,    // the same request would fail again
        FAILURE_RETRY,    // a matter of network or load
        FAILURE_RESAMPLE, // the model made a mistake that the server refused
        FAILURE_LEARNT,   // tuning has changed: a request made anew may work at once
        FAILURE_OVERFLOW, // the conversation does not fit into the context window
    } kind;
    int status;             // of HTTP or like it; 0 = none
    int64_t retry_after_ms; // what the server asked for; 0 = nothing
};

/**
 * One answer while it arrives. The stream builds the message; events tell what was added.
 * After a terminal event the stream is at its end.
 */
struct llm_stream {
    const struct provider *provider;
    /**
     * What has arrived so far; owned by the stream until taken. Every tool call has an id
     * that is unique in the conversation and a name ("" when the model gave none).
     */
    struct message *message;
    bool continue_turn; // after LLM_DONE: the model paused and is to be asked again
    struct llm_failure failure; // after LLM_ERROR
};

/** A way to reach models. A new one is one file and one row in provider.c; one that
 * speaks HTTP is a wire format (wire.h) and one row there. */
struct provider {
    const char *api;
    bool needs_http; // request->http must be set

    /** Starts an answer. Errors that need no network (bad file, no key) are reported
     * here. */
    enum pi_status (*open)(struct llm_stream **out, const struct model *model,
                           const struct llm_request *request, struct pi_error *err);

    /**
     * PI_OK: *event is the next one. PI_MORE: nothing yet; *wait_ms tells after how long
     * it is worth to ask again (-1: when a descriptor of the loop is ready). Never
     * blocks. Failures of the answer are an LLM_ERROR event, not a status; PI_NOMEM is
     * the exception.
     */
    enum pi_status (*next)(struct llm_stream *stream, struct llm_event *event,
                           int *wait_ms, struct pi_error *err);

    /** Stops and frees; message included unless it was taken (set to NULL). Accepts NULL.
     */
    void (*close)(struct llm_stream *stream);
};

/** The provider of an API's name, NULL when there is none. */
const struct provider *provider_find(const char *api);

/** Answers from a file of recorded turns (doc/replay.md). */
extern const struct provider provider_replay;

/** Answers of a server, in any wire format (stream.c). */
extern const struct provider provider_http;

/** Writes the model's names into a new answer; false without memory. */
bool provider_name_message(struct message *m, const struct model *model) NODISCARD;
