#include <string.h>

#include "mock_format.h"

static struct json *chunk(const struct writer *w, const char *object)
{
    struct buf id = {0};
    buf_addf(&id, "chatcmpl-%zu", w->n);
    struct json *c = json_new_object();
    json_set_str(c, "id", buf_cstr(&id));
    json_set_str(c, "object", object);
    json_set_int(c, "created", 1700000000);
    const char *model = json_get_str(w->request, "model");
    json_set_str(c, "model", model ? model : "");
    buf_finish(&id);
    return c;
}

// Takes the delta over.
static void write_chunk(struct writer *w, struct json *delta, const char *finish)
{
    struct json *c = chunk(w, "chat.completion.chunk");
    struct json *choices = json_new_array(), *choice = json_new_object();
    json_set_int(choice, "index", 0);
    json_set(choice, "delta", delta);
    json_set(choice, "finish_reason",
             finish ? json_new_string(sv_of(finish)) : json_new_null());
    json_push(choices, choice);
    json_set(c, "choices", choices);
    write_event(w, NULL, c);
}

static const char *finish_reason(const struct writer *w)
{
    const char *given = json_get_str(w->turn, "stopReason");
    const struct json *blocks = json_get(w->turn, "blocks");
    bool calls = false;
    for (const struct json *b = json_first(blocks); b; b = json_next(b)) {
        calls |= json_get(b, "call") != NULL;
    }
    if (!given) {
        return calls ? "tool_calls" : "stop";
    }
    return strcmp(given, "toolUse") == 0 ? "tool_calls" : given;
}

static struct json *usage_json(const struct writer *w)
{
    const struct json *u = json_get(w->turn, "usage");
    int64_t cached = (int64_t)json_get_num(u, "cacheRead", 0);
    int64_t input = (int64_t)json_get_num(u, "input", 10) + cached;
    int64_t output = (int64_t)json_get_num(u, "output", 5);
    struct json *usage = json_new_object(), *details = json_new_object();
    json_set_int(usage, "prompt_tokens", input);
    json_set_int(usage, "completion_tokens", output);
    json_set_int(usage, "total_tokens", input + output);
    json_set_int(details, "cached_tokens", cached);
    json_set(usage, "prompt_tokens_details", details);
    return usage;
}

static const char *reasoning_field(const struct writer *w)
{
    const char *field = json_get_str(w->turn, "reasoningField");
    return field ? field : "reasoning_content";
}

static struct json *call_json(struct writer *w, const struct json *call, size_t b)
{
    struct buf id = {0};
    struct json *j = json_new_object(), *function = json_new_object();
    json_set_str(j, "id", call_id(&id, call, "call", w->n, b));
    json_set_str(j, "type", "function");
    json_set_str(function, "name", json_get_str(call, "name"));
    json_set_str(function, "arguments", "");
    json_set(j, "function", function);
    buf_finish(&id);
    return j;
}

// "same": every call says 0, as some servers do; "none": no number at all.
static void number_call(const struct writer *w, struct json *call, size_t c)
{
    const char *how = json_get_str(w->turn, "callIndex");
    if (!how || strcmp(how, "none") != 0) {
        json_set_int(call, "index", how && strcmp(how, "same") == 0 ? 0 : (int64_t)c);
    }
}

static struct json *calls_delta(struct json *call)
{
    struct json *delta = json_new_object(), *calls = json_new_array();
    json_push(calls, call);
    json_set(delta, "tool_calls", calls);
    return delta;
}

static void write_call(struct writer *w, const struct json *block, size_t b, size_t c)
{
    struct buf text = {0};
    block_text(&text, block);
    struct sv piece;
    bool whole = json_get_num(w->turn, "chunk", 16) == 0;
    struct json *call = call_json(w, json_get(block, "call"), b);
    number_call(w, call, c);
    if (whole) {
        json_set_str(json_get(call, "function"), "arguments", buf_cstr(&text));
    }
    write_chunk(w, calls_delta(call), NULL);
    for (size_t at = 0; !whole && next_piece(w->turn, buf_sv(&text), &at, &piece);) {
        struct json *part = json_new_object(), *function = json_new_object();
        number_call(w, part, c);
        json_set(function, "arguments", json_new_string(piece));
        json_set(part, "function", function);
        write_chunk(w, calls_delta(part), NULL);
    }
    buf_finish(&text);
}

static void write_text(struct writer *w, const struct json *block)
{
    const char *field = json_get(block, "thinking") ? reasoning_field(w) : "content";
    struct buf text = {0};
    block_text(&text, block);
    struct sv piece;
    for (size_t at = 0; next_piece(w->turn, buf_sv(&text), &at, &piece);) {
        struct json *delta = json_new_object();
        json_set(delta, field, json_new_string(piece));
        write_chunk(w, delta, NULL);
    }
    buf_finish(&text);
}

static void write_whole(struct writer *w)
{
    struct json *message = json_new_object(), *calls = json_new_array();
    struct buf content = {0};
    json_set_str(message, "role", "assistant");
    size_t b = 0;
    const struct json *blocks = json_get(w->turn, "blocks");
    for (const struct json *j = json_first(blocks); j; j = json_next(j), b++) {
        struct buf text = {0};
        block_text(&text, j);
        if (json_get(j, "call")) {
            struct json *call = call_json(w, json_get(j, "call"), b);
            json_set_str(json_get(call, "function"), "arguments", buf_cstr(&text));
            json_push(calls, call);
        } else if (json_get(j, "thinking")) {
            json_set_str(message, reasoning_field(w), buf_cstr(&text));
        } else {
            buf_addsv(&content, buf_sv(&text));
        }
        buf_finish(&text);
    }
    json_set_str(message, "content", buf_cstr(&content));
    if (json_first(calls)) {
        json_set(message, "tool_calls", calls);
    } else {
        json_destroy(calls);
    }
    struct json *choices = json_new_array(), *choice = json_new_object();
    json_set_int(choice, "index", 0);
    json_set(choice, "message", message);
    json_set_str(choice, "finish_reason", finish_reason(w));
    json_push(choices, choice);
    struct json *root = chunk(w, "chat.completion");
    json_set(root, "choices", choices);
    json_set(root, "usage", usage_json(w));
    json_write(&w->out->bytes, root);
    answer_mark(w->out);
    json_destroy(root);
    buf_finish(&content);
}

static void write_failure(struct writer *w, const char *failure)
{
    const char *type = json_get_str(w->turn, "errorType");
    struct json *root = json_new_object(), *error = json_new_object();
    json_set_str(error, "message", failure);
    json_set_str(error, "type", type ? type : "server_error");
    json_set(root, "error", error);
    write_event(w, NULL, root);
}

void format_chat(struct writer *w)
{
    if (!w->out->stream) {
        write_whole(w);
        return;
    }
    struct json *first = json_new_object();
    json_set_str(first, "role", "assistant");
    json_set_str(first, "content", "");
    write_chunk(w, first, NULL);
    size_t b = 0, calls = 0;
    const struct json *blocks = json_get(w->turn, "blocks");
    for (const struct json *j = json_first(blocks); j; j = json_next(j), b++) {
        if (json_get(j, "call")) {
            write_call(w, j, b, calls++);
        } else {
            write_text(w, j);
        }
    }
    if (json_get_str(w->turn, "error")) {
        write_failure(w, json_get_str(w->turn, "error"));
        return;
    }
    write_chunk(w, json_new_object(), finish_reason(w));
    if (json_get_bool(json_get(w->request, "stream_options"), "include_usage", false)) {
        struct json *c = chunk(w, "chat.completion.chunk");
        json_set(c, "choices", json_new_array());
        json_set(c, "usage", usage_json(w));
        write_event(w, NULL, c);
    }
    write_event_text(w, NULL, "[DONE]");
}
