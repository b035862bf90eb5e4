#include "agent/event.h"

#include <stdlib.h>
#include <string.h>

#include "agent/review.h"
#include "llm/model_copy.h"
#include "text/utf8.h"

// Neighbouring deltas are joined up to this size; a face gets larger texts in several
// events.
enum { MERGED_MAX = 64 * 1024 };

static const char *const type_names[] = {
    [PI_EVENT_AGENT_START] = "agent_start",
    [PI_EVENT_AGENT_END] = "agent_end",
    [PI_EVENT_TURN_START] = "turn_start",
    [PI_EVENT_TURN_END] = "turn_end",
    [PI_EVENT_MESSAGE_START] = "message_start",
    [PI_EVENT_MESSAGE_UPDATE] = "message_update",
    [PI_EVENT_MESSAGE_END] = "message_end",
    [PI_EVENT_TOOL_START] = "tool_execution_start",
    [PI_EVENT_TOOL_UPDATE] = "tool_execution_update",
    [PI_EVENT_TOOL_END] = "tool_execution_end",
    [PI_EVENT_QUEUE_UPDATE] = "queue_update",
    [PI_EVENT_FILE_CHANGED] = "file_changed",
    [PI_EVENT_PERMISSION_REQUEST] = "permission_request",
    [PI_EVENT_PERMISSION_END] = "permission_end",
    [PI_EVENT_NOTICE] = "notice",
    [PI_EVENT_RETRY_START] = "auto_retry_start",
    [PI_EVENT_RETRY_END] = "auto_retry_end",
    [PI_EVENT_MODEL_CHANGED] = "model_changed",
    [PI_EVENT_THINKING_LEVEL_CHANGED] = "thinking_level_changed",
    [PI_EVENT_MODEL_LIST] = "model_list",
    [PI_EVENT_TRANSCRIPT] = "transcript",
};

static const char *const effect_names[] = {
    [TOOL_READ] = "read",
    [TOOL_CHANGE] = "change",
    [TOOL_EXEC] = "exec",
    [TOOL_OTHER] = "other",
};

void event_destroy(struct pi_event *e)
{
    if (!e) {
        return;
    }
    json_destroy(e->body);
    for (size_t i = 0; i < e->messages_len; i++) {
        message_destroy(e->messages[i]);
    }
    free(e->messages);
    free(e->call_id);
    free(e->call_name);
    buf_finish(&e->text);
    buf_finish(&e->json);
    free(e);
}

static struct pi_event *event_create(enum pi_event_type type,
                                     enum event_class event_class)
{
    struct pi_event *e = calloc(1, sizeof *e);
    if (e) {
        e->type = type;
        e->event_class = event_class;
    }
    return e;
}

struct pi_event *event_plain(enum pi_event_type type)
{
    struct pi_event *e = event_create(type, EVENT_CONTROL);
    if (!e) {
        return NULL;
    }
    e->body = json_new_object();
    if (!json_set_str(e->body, "type", type_names[type])) {
        event_destroy(e);
        return NULL;
    }
    return e;
}

// Sets a member of a new event's body; a failure destroys the event, so that constructors
// are chains that end with the event or NULL.
static struct pi_event *with(struct pi_event *e, const char *key, struct json *value)
{
    if (!e) {
        json_destroy(value);
        return NULL;
    }
    if (!json_set(e->body, key, value)) {
        event_destroy(e);
        return NULL;
    }
    return e;
}

static struct pi_event *with_str(struct pi_event *e, const char *key, const char *text)
{
    return text ? with(e, key, json_new_string(sv_of(text))) : e;
}

static struct pi_event *with_text(struct pi_event *e, struct sv text)
{
    if (e) {
        buf_addsv(&e->text, text);
        if (!buf_ok(&e->text)) {
            event_destroy(e);
            return NULL;
        }
    }
    return e;
}

struct pi_event *event_message_start(const struct message *message)
{
    return with(event_plain(PI_EVENT_MESSAGE_START), "message", message_json(message));
}

// An event that shares `first`, unless that is NULL, and more messages.
static struct pi_event *sharing(enum pi_event_type type, struct message *first,
                                struct message *const *more, size_t len)
{
    struct pi_event *e = event_plain(type);
    if (!e) {
        return NULL;
    }
    e->messages = calloc(len + 1, sizeof *e->messages);
    if (!e->messages) {
        event_destroy(e);
        return NULL;
    }
    if (first) {
        e->messages[e->messages_len++] = message_share(first);
    }
    for (size_t i = 0; i < len; i++) {
        e->messages[e->messages_len++] = message_share(more[i]);
    }
    return e;
}

struct pi_event *event_message_end(struct message *message)
{
    return sharing(PI_EVENT_MESSAGE_END, message, NULL, 0);
}

struct pi_event *event_turn_end(struct message *answer, struct message *const *results,
                                size_t len)
{
    return sharing(PI_EVENT_TURN_END, answer, results, len);
}

struct pi_event *event_agent_end(struct message *const *messages, size_t len)
{
    return sharing(PI_EVENT_AGENT_END, NULL, messages, len);
}

static enum pi_delta delta_of(enum llm_event_type type)
{
    switch (type) {
    case LLM_TEXT_DELTA:
        return PI_DELTA_TEXT;
    case LLM_THINKING_DELTA:
        return PI_DELTA_THINKING;
    case LLM_TOOL_CALL_DELTA:
        return PI_DELTA_TOOL_CALL;
    default:
        return PI_DELTA_NONE;
    }
}

struct pi_event *event_update(const struct llm_event *event,
                              const struct message *message)
{
    enum pi_delta delta = delta_of(event->type);
    if (delta != PI_DELTA_NONE) {
        struct pi_event *e = event_create(PI_EVENT_MESSAGE_UPDATE, EVENT_DELTA);
        if (e) {
            e->delta = delta;
            e->delta_name = llm_event_name(event->type);
            e->content_index = event->content_index;
        }
        return with_text(e, event->delta);
    }
    struct json *inner = json_new_object();
    bool ok = json_set_str(inner, "type", llm_event_name(event->type)) &&
              json_set_int(inner, "contentIndex", (int64_t)event->content_index);
    if (ok && event->type == LLM_TOOL_CALL_END) {
        ok = event->content_index < message->content.len &&
             json_set(inner, "toolCall",
                      block_json(&message->content.blocks[event->content_index]));
    }
    if (!ok) {
        json_destroy(inner);
        return NULL;
    }
    return with(event_plain(PI_EVENT_MESSAGE_UPDATE), "assistantMessageEvent", inner);
}

static struct pi_event *tool_event(enum pi_event_type type, const struct tool_call *call)
{
    struct pi_event *e = with_str(event_plain(type), "toolCallId", call->id);
    return with_str(e, "toolName", call->name);
}

struct pi_event *event_tool_start(const struct tool_call *call, const char *title)
{
    struct json *args = call->args ? json_copy(call->args) : json_new_object();
    struct pi_event *e = with(tool_event(PI_EVENT_TOOL_START, call), "args", args);
    return with_str(e, "title", title);
}

struct pi_event *event_tool_output(const struct tool_call *call, struct sv text)
{
    struct pi_event *e = event_create(PI_EVENT_TOOL_UPDATE, EVENT_OUTPUT);
    if (!e) {
        return NULL;
    }
    e->call_id = strdup(call->id);
    e->call_name = strdup(call->name);
    if (!e->call_id || !e->call_name) {
        event_destroy(e);
        return NULL;
    }
    return with_text(e, text);
}

struct pi_event *event_tool_end(const struct tool_call *call,
                                const struct tool_result *result)
{
    struct json *inner = json_new_object();
    bool ok = json_set(inner, "content", content_json(&result->content)) &&
              json_set(inner, "details",
                       result->details ? json_copy(result->details) : json_new_object());
    if (!ok) {
        json_destroy(inner);
        return NULL;
    }
    struct pi_event *e = with(tool_event(PI_EVENT_TOOL_END, call), "result", inner);
    return with(e, "isError", json_new_bool(result->is_error));
}

struct pi_event *event_queue(struct json *steering, struct json *follow_up,
                             struct json *dropped)
{
    struct pi_event *e = with(event_plain(PI_EVENT_QUEUE_UPDATE), "steering", steering);
    e = with(e, "followUp", follow_up);
    return dropped ? with(e, "dropped", dropped) : e;
}

struct pi_event *event_file_changed(const struct tool_file_change *change,
                                    const char *origin)
{
    struct json *range = json_new_object();
    struct json *ranges = json_new_array();
    bool ok = json_set_int(range, "line", (int64_t)change->first_line) &&
              json_set_int(range, "lines", (int64_t)change->lines);
    if (!ok || change->first_line == 0) {
        json_destroy(range);
    } else if (!json_push(ranges, range)) {
        ok = false;
    }
    if (!ok) {
        json_destroy(ranges);
        return NULL;
    }
    struct pi_event *e =
        with_str(event_plain(PI_EVENT_FILE_CHANGED), "path", change->path);
    e = with(e, "changes", ranges);
    e = with_str(e, "origin", origin);
    e = with(e, "inEditor", json_new_bool(change->in_editor));
    return with(e, "saved", json_new_bool(change->saved));
}

struct pi_event *event_notice(const char *level, const char *text)
{
    struct pi_event *e = with_str(event_plain(PI_EVENT_NOTICE), "level", level);
    return with_str(e, "message", text);
}

struct pi_event *event_retry_start(unsigned attempt, unsigned max_attempts,
                                   int64_t delay_ms, const char *error)
{
    struct pi_event *e =
        with(event_plain(PI_EVENT_RETRY_START), "attempt", json_new_int(attempt));
    e = with(e, "maxAttempts", json_new_int(max_attempts));
    e = with(e, "delayMs", json_new_int(delay_ms));
    e = with_str(e, "errorMessage", error);
    struct buf line = {0};
    buf_addf(&line, "%s; trying again in %lld s (%u of %u)", error,
             (long long)((delay_ms + 999) / 1000), attempt, max_attempts);
    e = with(e, "message", buf_ok(&line) ? json_new_string(buf_sv(&line)) : NULL);
    buf_finish(&line);
    return e;
}

struct pi_event *event_retry_end(bool success, unsigned attempt, const char *final_error)
{
    struct pi_event *e =
        with(event_plain(PI_EVENT_RETRY_END), "success", json_new_bool(success));
    e = with(e, "attempt", json_new_int(attempt));
    return with_str(e, "finalError", final_error);
}

struct pi_event *event_model_changed(const struct model *model, enum thinking_level level)
{
    struct pi_event *e =
        with(event_plain(PI_EVENT_MODEL_CHANGED), "model", model_json(model));
    return with_str(e, "thinkingLevel", thinking_level_name(level));
}

struct pi_event *event_thinking_changed(enum thinking_level level)
{
    return with_str(event_plain(PI_EVENT_THINKING_LEVEL_CHANGED), "level",
                    thinking_level_name(level));
}

struct pi_event *event_model_list(struct json *models, struct json *providers)
{
    struct pi_event *e = with(event_plain(PI_EVENT_MODEL_LIST), "models", models);
    if (!e) {
        json_destroy(providers);
    }
    return with(e, "providers", providers);
}

static struct json *string_list(const char *const *texts, size_t len)
{
    struct json *list = json_new_array();
    for (size_t i = 0; i < len; i++) {
        if (!json_push(list, json_new_string(sv_of(texts[i])))) {
            json_destroy(list);
            return NULL;
        }
    }
    return list;
}

struct pi_event *event_permission_request(const struct event_question *question)
{
    static const char *const answers[] = {"once", "session", "deny"};
    const struct tool_plan *plan = &question->call->plan;
    struct json *list = string_list(answers, sizeof answers / sizeof *answers);
    struct pi_event *e = tool_event(PI_EVENT_PERMISSION_REQUEST, question->call);
    e = with_str(e, "id", question->id);
    e = with_str(e, "effect", effect_names[plan->effect]);
    e = with_str(e, "path", plan->target.path);
    e = with_str(e, "command", plan->command);
    e = with_str(e, "sessionMeans", question->session_means);
    return with(e, "answers", list);
}

struct pi_event *event_review_request(const char *id, const struct review *review)
{
    static const char *const answers[] = {"once", "deny"};
    struct json *list = string_list(answers, sizeof answers / sizeof *answers);
    struct pi_event *e =
        with_str(event_plain(PI_EVENT_PERMISSION_REQUEST), "toolCallId", review->call_id);
    e = with_str(e, "toolName", review->tool_name);
    e = with_str(e, "id", id);
    e = with_str(e, "effect", effect_names[TOOL_CHANGE]);
    e = with_str(e, "path", review->path);
    e = with_str(e, "diff", buf_cstr(&review->diff));
    if (review->diff_omitted) {
        e = with(e, "diffOmittedBytes", json_new_int((int64_t)review->diff_omitted));
    }
    return with(e, "answers", list);
}

struct pi_event *event_transcript(struct message *const *messages, size_t len,
                                  size_t omitted)
{
    struct pi_event *e = sharing(PI_EVENT_TRANSCRIPT, NULL, messages, len);
    return with(e, "omitted", json_new_int((int64_t)omitted));
}

struct pi_event *event_permission_end(const char *id, const char *call_id,
                                      const char *outcome)
{
    struct pi_event *e = with_str(event_plain(PI_EVENT_PERMISSION_END), "id", id);
    e = with_str(e, "toolCallId", call_id);
    return with_str(e, "outcome", outcome);
}

static bool same_kind(const struct pi_event *a, const struct pi_event *b)
{
    if (a->event_class != b->event_class || a->type != b->type) {
        return false;
    }
    switch (a->event_class) {
    case EVENT_DELTA:
        return a->delta == b->delta && a->content_index == b->content_index;
    case EVENT_OUTPUT:
        return strcmp(a->call_id, b->call_id) == 0;
    default:
        return false;
    }
}

// Keeps the newest part, from a line start if there is one near, else from a character
// start.
static void keep_newest(struct pi_event *e)
{
    size_t cut = e->text.len - EVENT_OUTPUT_MAX / 2;
    const char *lf = memchr(e->text.data + cut, '\n', EVENT_OUTPUT_MAX / 4);
    cut = lf ? (size_t)(lf + 1 - e->text.data) : utf8_ceil(buf_sv(&e->text), cut);
    buf_drop(&e->text, cut);
    e->skipped += cut;
}

bool event_merge(struct pi_event *e, const struct pi_event *later)
{
    if (!same_kind(e, later)) {
        return false;
    }
    if (e->event_class == EVENT_DELTA && e->text.len + later->text.len > MERGED_MAX) {
        return false;
    }
    if (!buf_reserve(&e->text, later->text.len)) {
        e->text.failed =
            false; // what was there is still whole; the later piece stays apart
        return false;
    }
    buf_addsv(&e->text, buf_sv(&later->text));
    e->skipped += later->skipped;
    if (e->event_class == EVENT_OUTPUT && e->text.len > EVENT_OUTPUT_MAX) {
        keep_newest(e);
    }
    return true;
}

size_t event_size(const struct pi_event *e)
{
    return 256 + e->text.len;
}
