#include "llm/llm.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sys/clock.h"

void block_finish(struct block *b)
{
    if (!b) {
        return;
    }
    buf_finish(&b->text);
    free(b->signature);
    free(b->mime_type);
    free(b->id);
    free(b->name);
    *b = (struct block){0};
}

void content_finish(struct content *c)
{
    if (!c) {
        return;
    }
    for (size_t i = 0; i < c->len; i++) {
        block_finish(&c->blocks[i]);
    }
    free(c->blocks);
    *c = (struct content){0};
}

struct block *content_add(struct content *c, enum block_type type)
{
    struct block *grown = vec_grow(c->blocks, &c->cap, c->len + 1, sizeof(*grown));
    if (!grown) {
        return NULL;
    }
    c->blocks = grown;
    struct block *b = &grown[c->len++];
    *b = (struct block){.type = type};
    return b;
}

bool content_add_text(struct content *c, struct sv text)
{
    struct block *b = content_add(c, BLOCK_TEXT);
    if (!b) {
        return false;
    }
    buf_addsv(&b->text, text);
    if (!buf_ok(&b->text)) {
        block_finish(b);
        c->len--;
        return false;
    }
    return true;
}

static bool copy_string(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

static bool copy_block(struct block *out, const struct block *from)
{
    out->redacted = from->redacted;
    out->complete = from->complete;
    buf_addsv(&out->text, buf_sv(&from->text));
    return buf_ok(&out->text) && copy_string(&out->signature, from->signature) &&
           copy_string(&out->mime_type, from->mime_type) &&
           copy_string(&out->id, from->id) && copy_string(&out->name, from->name);
}

bool content_copy(struct content *out, const struct content *from)
{
    *out = (struct content){0};
    for (size_t i = 0; i < from->len; i++) {
        struct block *b = content_add(out, from->blocks[i].type);
        if (!b || !copy_block(b, &from->blocks[i])) {
            content_finish(out);
            return false;
        }
    }
    return true;
}

void content_text(const struct content *c, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < c->len; i++) {
        if (c->blocks[i].type != BLOCK_TEXT) {
            continue;
        }
        if (!first) {
            buf_addc(out, '\n');
        }
        first = false;
        buf_addsv(out, buf_sv(&c->blocks[i].text));
    }
}

static bool set_optional(struct json *o, const char *key, const char *text)
{
    return !text || json_set_str(o, key, text);
}

static bool set_text(struct json *o, const char *key, const struct block *b)
{
    return json_set(o, key, json_new_string(buf_sv(&b->text)));
}

// What cannot be read as an object is {}: clients expect an object here, and such a call
// is never run.
static struct json *arguments_json(const struct block *b)
{
    struct json *arguments = NULL;
    if (b->complete && json_parse(&arguments, buf_sv(&b->text), NULL, NULL) == PI_OK &&
        json_type(arguments) == JSON_OBJECT) {
        return arguments;
    }
    json_destroy(arguments);
    return json_new_object();
}

static bool fill_text(struct json *o, const struct block *b)
{
    return json_set_str(o, "type", "text") && set_text(o, "text", b) &&
           set_optional(o, "textSignature", b->signature);
}

static bool fill_thinking(struct json *o, const struct block *b)
{
    return json_set_str(o, "type", "thinking") && set_text(o, "thinking", b) &&
           set_optional(o, "thinkingSignature", b->signature) &&
           (!b->redacted || json_set_bool(o, "redacted", true));
}

static bool fill_image(struct json *o, const struct block *b)
{
    return json_set_str(o, "type", "image") && set_text(o, "data", b) &&
           json_set_str(o, "mimeType", b->mime_type ? b->mime_type : "");
}

static bool fill_tool_call(struct json *o, const struct block *b)
{
    return json_set_str(o, "type", "toolCall") &&
           json_set_str(o, "id", b->id ? b->id : "") &&
           json_set_str(o, "name", b->name ? b->name : "") &&
           json_set(o, "arguments", arguments_json(b)) &&
           set_optional(o, "thoughtSignature", b->signature);
}

struct json *block_json(const struct block *b)
{
    static bool (*const fill[])(struct json *, const struct block *) = {
        [BLOCK_TEXT] = fill_text,
        [BLOCK_THINKING] = fill_thinking,
        [BLOCK_IMAGE] = fill_image,
        [BLOCK_TOOL_CALL] = fill_tool_call,
    };
    struct json *o = json_new_object();
    if (o && fill[b->type](o, b)) {
        return o;
    }
    json_destroy(o);
    return NULL;
}

struct json *content_json(const struct content *c)
{
    struct json *array = json_new_array();
    for (size_t i = 0; array && i < c->len; i++) {
        if (!json_push(array, block_json(&c->blocks[i]))) {
            json_destroy(array);
            array = NULL;
        }
    }
    return array;
}

const char *stop_reason_name(enum stop_reason reason)
{
    static const char *const names[] = {
        [STOP_STOP] = "stop",   [STOP_LENGTH] = "length",   [STOP_TOOL_USE] = "toolUse",
        [STOP_ERROR] = "error", [STOP_ABORTED] = "aborted",
    };
    return names[reason];
}

struct message *message_create(enum role role)
{
    struct message *m = calloc(1, sizeof(*m));
    if (m) {
        m->role = role;
        m->timestamp_ms = clock_unix_ms();
    }
    return m;
}

struct message *message_share(struct message *m)
{
    atomic_fetch_add(&m->shares, 1);
    return m;
}

void message_destroy(struct message *m)
{
    if (!m || atomic_fetch_sub(&m->shares, 1) > 0) {
        return;
    }
    content_finish(&m->content);
    free(m->api);
    free(m->provider);
    free(m->model);
    free(m->response_id);
    free(m->error_message);
    free(m->tool_call_id);
    free(m->tool_name);
    json_destroy(m->details);
    free(m);
}

static struct json *cost_json(const struct usage *u)
{
    struct json *o = json_new_object();
    if (o && json_set(o, "input", json_new_num(u->cost_input)) &&
        json_set(o, "output", json_new_num(u->cost_output)) &&
        json_set(o, "cacheRead", json_new_num(u->cost_cache_read)) &&
        json_set(o, "cacheWrite", json_new_num(u->cost_cache_write)) &&
        json_set(o, "total", json_new_num(u->cost_total))) {
        return o;
    }
    json_destroy(o);
    return NULL;
}

static struct json *usage_json(const struct usage *u)
{
    struct json *o = json_new_object();
    if (o && json_set_int(o, "input", u->input) && json_set_int(o, "output", u->output) &&
        json_set_int(o, "cacheRead", u->cache_read) &&
        json_set_int(o, "cacheWrite", u->cache_write) &&
        json_set_int(o, "totalTokens", u->total) && json_set(o, "cost", cost_json(u))) {
        return o;
    }
    json_destroy(o);
    return NULL;
}

static bool fill_user(struct json *o, const struct message *m)
{
    return json_set_str(o, "role", "user") &&
           json_set(o, "content", content_json(&m->content));
}

static bool fill_assistant(struct json *o, const struct message *m)
{
    return json_set_str(o, "role", "assistant") &&
           json_set(o, "content", content_json(&m->content)) &&
           json_set_str(o, "api", m->api ? m->api : "") &&
           json_set_str(o, "provider", m->provider ? m->provider : "") &&
           json_set_str(o, "model", m->model ? m->model : "") &&
           set_optional(o, "responseId", m->response_id) &&
           json_set(o, "usage", usage_json(&m->usage)) &&
           json_set_str(o, "stopReason", stop_reason_name(m->stop_reason)) &&
           set_optional(o, "errorMessage", m->error_message);
}

static bool fill_tool_result(struct json *o, const struct message *m)
{
    return json_set_str(o, "role", "toolResult") &&
           json_set_str(o, "toolCallId", m->tool_call_id ? m->tool_call_id : "") &&
           json_set_str(o, "toolName", m->tool_name ? m->tool_name : "") &&
           json_set(o, "content", content_json(&m->content)) &&
           (!m->details || json_set(o, "details", json_copy(m->details))) &&
           json_set_bool(o, "isError", m->is_error);
}

struct json *message_json(const struct message *m)
{
    static bool (*const fill[])(struct json *, const struct message *) = {
        [ROLE_USER] = fill_user,
        [ROLE_ASSISTANT] = fill_assistant,
        [ROLE_TOOL_RESULT] = fill_tool_result,
    };
    struct json *o = json_new_object();
    if (o && fill[m->role](o, m) && json_set_int(o, "timestamp", m->timestamp_ms)) {
        return o;
    }
    json_destroy(o);
    return NULL;
}
