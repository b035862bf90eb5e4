#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "llm/provider.h"
#include "pi.h"
#include "tool/tool.h"

/**
 * Events: their constructors and their JSON form (doc/events.md). Made by the agent
 * thread, handed to the face through the mailbox, constant from then on, except that
 * neighbours of a kind may be merged while they wait.
 *
 * Constructors return NULL without memory.
 */

struct review;

enum event_class {
    EVENT_CONTROL, // never dropped, never merged
    EVENT_DELTA,   // text of the model: merged with its neighbour
    EVENT_OUTPUT,  // live output of a command: merged; only the newest part is kept
};

/** Live output that waits for the face is cut to its newest part beyond this size. */
enum { EVENT_OUTPUT_MAX = 128 * 1024 };

struct pi_event {
    struct pi_event *next; // for the mailbox
    enum pi_event_type type;
    enum event_class event_class;
    struct json *body; // control events: the whole object, or all but the messages

    // message_end: the message; turn_end: the answer and the results; agent_end: those of
    // the run; transcript: those asked for.
    struct message **messages;
    size_t messages_len;

    // Deltas and output.
    enum pi_delta delta;
    const char *delta_name; // "text_delta"
    size_t content_index;
    char *call_id, *call_name;
    struct buf text;
    size_t skipped; // bytes of output that were cut

    struct buf json; // made when first asked for
};

void event_destroy(struct pi_event *e); // accepts NULL

/** An event with nothing but its type. */
struct pi_event *event_plain(enum pi_event_type type);

/** Of a message that may still grow. */
struct pi_event *event_message_start(const struct message *message);

/** These share the messages, which are constant from now on. results: those of the turn.
 */
struct pi_event *event_message_end(struct message *message);
struct pi_event *event_turn_end(struct message *answer, struct message *const *results,
                                size_t len);
struct pi_event *event_agent_end(struct message *const *messages, size_t len);

/** message_update. The finished call stands in toolcall_end. */
struct pi_event *event_update(const struct llm_event *event,
                              const struct message *message);

struct pi_event *event_tool_start(const struct tool_call *call, const char *title);
struct pi_event *event_tool_output(const struct tool_call *call, struct sv text);
struct pi_event *event_tool_end(const struct tool_call *call,
                                const struct tool_result *result);

/** queue_update; the arrays are taken over; dropped may be NULL. */
struct pi_event *event_queue(struct json *steering, struct json *follow_up,
                             struct json *dropped);

struct pi_event *event_file_changed(const struct tool_file_change *change,
                                    const char *origin);

/** auto_retry_start and auto_retry_end; attempt counts from 1; final_error may be NULL.
 */
struct pi_event *event_retry_start(unsigned attempt, unsigned max_attempts,
                                   int64_t delay_ms, const char *error);
struct pi_event *event_retry_end(bool success, unsigned attempt, const char *final_error);

struct pi_event *event_model_changed(const struct model *model,
                                     enum thinking_level level);
struct pi_event *event_thinking_changed(enum thinking_level level);

/** Both arrays are taken over. */
struct pi_event *event_model_list(struct json *models, struct json *providers);

/** level: "info", "warning" or "error". */
struct pi_event *event_notice(const char *level, const char *text);

/** What a question is about. */
struct event_question {
    const char *id;
    const struct tool_call *call;
    const char *session_means; // what the answer "session" would allow
};
struct pi_event *event_permission_request(const struct event_question *question);

/** The question before a change. */
struct pi_event *event_review_request(const char *id, const struct review *review);

/** The newest messages, shared; omitted counts those before them. */
struct pi_event *event_transcript(struct message *const *messages, size_t len,
                                  size_t omitted);

/** outcome: "allowed", "denied" or "withdrawn". */
struct pi_event *event_permission_end(const char *id, const char *call_id,
                                      const char *outcome);

/** Adds the text of `later` to `e` when both are neighbours of a kind; false when they
 * are not. */
bool event_merge(struct pi_event *e, const struct pi_event *later);

/** Bytes that count against the budget of a dispatch. */
size_t event_size(const struct pi_event *e);
