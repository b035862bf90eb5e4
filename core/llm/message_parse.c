#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llm/llm.h"

static bool copy(char **out, const struct json *object, const char *key)
{
    const char *text = json_get_str(object, key);
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

static bool copy_text(struct block *b, const struct json *object, const char *key)
{
    const char *text = json_get_str(object, key);
    buf_adds(&b->text, text ? text : "");
    return buf_ok(&b->text);
}

static bool read_text(struct block *b, const struct json *j)
{
    return copy_text(b, j, "text") && copy(&b->signature, j, "textSignature");
}

static bool read_thinking(struct block *b, const struct json *j)
{
    b->redacted = json_get_bool(j, "redacted", false);
    return copy_text(b, j, "thinking") && copy(&b->signature, j, "thinkingSignature");
}

static bool read_image(struct block *b, const struct json *j)
{
    return copy_text(b, j, "data") && copy(&b->mime_type, j, "mimeType");
}

static bool read_tool_call(struct block *b, const struct json *j)
{
    const struct json *arguments = json_get(j, "arguments");
    b->complete = true;
    if (json_type(arguments) == JSON_OBJECT) {
        json_write(&b->text, arguments);
    } else {
        buf_adds(&b->text, "{}");
    }
    return buf_ok(&b->text) && copy(&b->id, j, "id") && copy(&b->name, j, "name") &&
           copy(&b->signature, j, "thoughtSignature");
}

// Blocks of a type that we do not know are left out.
static bool read_block(struct content *out, const struct json *j)
{
    static const struct {
        const char *name;
        enum block_type type;
        bool (*read)(struct block *b, const struct json *j);
    } types[] = {
        {"text", BLOCK_TEXT, read_text},
        {"thinking", BLOCK_THINKING, read_thinking},
        {"image", BLOCK_IMAGE, read_image},
        {"toolCall", BLOCK_TOOL_CALL, read_tool_call},
    };
    const char *name = json_get_str(j, "type");
    for (size_t i = 0; name && i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(name, types[i].name) == 0) {
            struct block *b = content_add(out, types[i].type);
            return b && types[i].read(b, j);
        }
    }
    return true;
}

enum pi_status content_parse(struct content *out, const struct json *j,
                             struct pi_error *err)
{
    *out = (struct content){0};
    bool ok = true;
    if (json_type(j) == JSON_STRING) {
        ok = content_add_text(out, sv_of(json_str(j)));
    } else if (json_type(j) == JSON_ARRAY) {
        for (const struct json *b = json_first(j); ok && b; b = json_next(b)) {
            ok = read_block(out, b);
        }
    } else {
        return error_set(err, PI_INVALID,
                         "the content of a message is neither a text nor a list");
    }
    if (!ok) {
        content_finish(out);
        return error_nomem(err);
    }
    return PI_OK;
}

static int64_t integer(const struct json *object, const char *key)
{
    double value = json_get_num(object, key, 0);
    return isfinite(value) && fabs(value) < 9e15 ? (int64_t)value : 0;
}

static void read_usage(struct usage *u, const struct json *j)
{
    const struct json *cost = json_get(j, "cost");
    *u = (struct usage){
        .input = integer(j, "input"),
        .output = integer(j, "output"),
        .cache_read = integer(j, "cacheRead"),
        .cache_write = integer(j, "cacheWrite"),
        .total = integer(j, "totalTokens"),
        .cost_input = json_get_num(cost, "input", 0),
        .cost_output = json_get_num(cost, "output", 0),
        .cost_cache_read = json_get_num(cost, "cacheRead", 0),
        .cost_cache_write = json_get_num(cost, "cacheWrite", 0),
        .cost_total = json_get_num(cost, "total", 0),
    };
}

// On an end that we do not know no further request can be built.
static enum stop_reason read_stop_reason(const struct json *j)
{
    const char *name = json_get_str(j, "stopReason");
    for (int i = STOP_STOP; name && i <= STOP_ABORTED; i++) {
        if (strcmp(name, stop_reason_name((enum stop_reason)i)) == 0) {
            return (enum stop_reason)i;
        }
    }
    return STOP_ERROR;
}

static bool read_assistant(struct message *m, const struct json *j)
{
    read_usage(&m->usage, json_get(j, "usage"));
    m->stop_reason = read_stop_reason(j);
    return copy(&m->api, j, "api") && copy(&m->provider, j, "provider") &&
           copy(&m->model, j, "model") && copy(&m->response_id, j, "responseId") &&
           copy(&m->error_message, j, "errorMessage");
}

static bool read_tool_result(struct message *m, const struct json *j)
{
    const struct json *details = json_get(j, "details");
    m->details = details ? json_copy(details) : NULL;
    m->is_error = json_get_bool(j, "isError", false);
    return (m->details || !details) && copy(&m->tool_call_id, j, "toolCallId") &&
           copy(&m->tool_name, j, "toolName");
}

static bool find_role(enum role *out, const struct json *j)
{
    static const char *const names[] = {
        [ROLE_USER] = "user",
        [ROLE_ASSISTANT] = "assistant",
        [ROLE_TOOL_RESULT] = "toolResult",
    };
    const char *name = json_get_str(j, "role");
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum role)i;
            return true;
        }
    }
    return false;
}

enum pi_status message_parse(struct message **out, const struct json *j,
                             struct pi_error *err)
{
    enum role role = ROLE_USER;
    if (!find_role(&role, j)) {
        return error_set(err, PI_UNSUPPORTED, "a message of an unknown role");
    }
    if (role == ROLE_TOOL_RESULT && !json_get_str(j, "toolCallId")) {
        return error_set(err, PI_INVALID, "a tool result that names no call");
    }
    struct message *m = message_create(role);
    if (!m) {
        return error_nomem(err);
    }
    m->timestamp_ms = integer(j, "timestamp");
    enum pi_status status = content_parse(&m->content, json_get(j, "content"), err);
    if (!status && ((role == ROLE_ASSISTANT && !read_assistant(m, j)) ||
                    (role == ROLE_TOOL_RESULT && !read_tool_result(m, j)))) {
        status = error_nomem(err);
    }
    if (status) {
        message_destroy(m);
        return status;
    }
    *out = m;
    return PI_OK;
}
