// What faces read of an event: its JSON form, made when first asked for.

#include <string.h>

#include "agent/event.h"

// Deltas come by the ten thousand: their JSON is written without building a tree.
static void write_delta(struct pi_event *e)
{
    struct buf *b = &e->json;
    buf_addf(b,
             "{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"%s\","
             "\"contentIndex\":%zu,\"delta\":",
             e->delta_name, e->content_index);
    json_write_string(b, buf_sv(&e->text));
    buf_adds(b, "}}");
}

static void write_output(struct pi_event *e)
{
    struct buf *b = &e->json;
    buf_adds(b, "{\"type\":\"tool_execution_update\",\"toolCallId\":");
    json_write_string(b, sv_of(e->call_id));
    buf_adds(b, ",\"toolName\":");
    json_write_string(b, sv_of(e->call_name));
    if (e->skipped) {
        buf_addf(b, ",\"skippedBytes\":%zu", e->skipped);
    }
    buf_adds(b, ",\"delta\":");
    json_write_string(b, buf_sv(&e->text));
    buf_adds(b, "}");
}

static bool add_list(struct json *body, const char *key, struct message *const *messages,
                     size_t len)
{
    struct json *list = json_new_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < len; i++) {
        ok = json_push(list, message_json(messages[i]));
    }
    if (!ok) {
        json_destroy(list);
        return false;
    }
    return json_set(body, key, list);
}

// A transcript shows that there was an image, not the image.
static bool leave_images_out(struct json *messages)
{
    bool ok = true;
    for (struct json *m = json_first(messages); m; m = json_next(m)) {
        struct json *block = json_first(json_get(m, "content"));
        for (; ok && block; block = json_next(block)) {
            const char *data = json_get_str(block, "data");
            ok = !data || json_set_int(block, "dataOmitted", (int64_t)strlen(data));
            json_destroy(json_remove(block, "data"));
        }
    }
    return ok;
}

// Texts may be long, so a tree of them lives only as long as it takes to print it.
static bool add_messages(struct pi_event *e)
{
    struct message *const *m = e->messages;
    if (!m) {
        return true;
    }
    if (e->type == PI_EVENT_AGENT_END) {
        return add_list(e->body, "messages", m, e->messages_len);
    }
    if (e->type == PI_EVENT_TRANSCRIPT) {
        return add_list(e->body, "messages", m, e->messages_len) &&
               leave_images_out(json_get(e->body, "messages"));
    }
    return json_set(e->body, "message", message_json(m[0])) &&
           (e->type == PI_EVENT_MESSAGE_END ||
            add_list(e->body, "toolResults", m + 1, e->messages_len - 1));
}

static void write_control(struct pi_event *e)
{
    if (add_messages(e)) {
        json_write(&e->json, e->body);
    } else {
        e->json.failed = true;
    }
    json_destroy(e->body); // a long answer need not be held twice
    e->body = NULL;
}

enum pi_event_type pi_event_type(const pi_event *event)
{
    return event->type;
}

const char *pi_event_json(const pi_event *event, size_t *len)
{
    // The face sees a constant event; its JSON form is a cache that only the face's
    // thread fills.
    struct pi_event *e = (struct pi_event *)(uintptr_t)event;
    if (e->json.len == 0 && buf_ok(&e->json)) {
        switch (e->event_class) {
        case EVENT_DELTA:
            write_delta(e);
            break;
        case EVENT_OUTPUT:
            write_output(e);
            break;
        case EVENT_CONTROL:
            write_control(e);
            break;
        }
    }
    if (len) {
        *len = e->json.len;
    }
    return buf_ok(&e->json) ? e->json.data : NULL;
}

static bool is_tool_result(const pi_event *e)
{
    if (e->messages_len == 1) {
        return e->messages[0]->role == ROLE_TOOL_RESULT;
    }
    const char *role = json_get_str(json_get(e->body, "message"), "role");
    return role && strcmp(role, "toolResult") == 0;
}

// What is left of an event whose messages the face has already, else NULL.
static const char *brief(const pi_event *e)
{
    switch (e->type) {
    case PI_EVENT_AGENT_END:
        return "{\"type\":\"agent_end\"}";
    case PI_EVENT_TURN_END:
        return "{\"type\":\"turn_end\"}";
    case PI_EVENT_MESSAGE_START:
        return is_tool_result(e)
                   ? "{\"type\":\"message_start\",\"message\":{\"role\":\"toolResult\"}}"
                   : NULL;
    case PI_EVENT_MESSAGE_END:
        return is_tool_result(e)
                   ? "{\"type\":\"message_end\",\"message\":{\"role\":\"toolResult\"}}"
                   : NULL;
    default:
        return NULL;
    }
}

const char *pi_event_brief_json(const pi_event *event, size_t *len)
{
    const char *json = brief(event);
    if (!json) {
        return pi_event_json(event, len);
    }
    if (len) {
        *len = strlen(json);
    }
    return json;
}

enum pi_delta pi_event_delta(const pi_event *event)
{
    return event->delta;
}

const char *pi_event_text(const pi_event *event, size_t *len)
{
    bool has = event->event_class != EVENT_CONTROL;
    if (len) {
        *len = has ? event->text.len : 0;
    }
    return has ? buf_cstr(&event->text) : NULL;
}
