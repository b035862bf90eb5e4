#include <string.h>

#include "mock_format.h"

static struct json *event(const char *type)
{
    struct json *e = json_new_object();
    json_set_str(e, "type", type);
    return e;
}

static struct json *usage_json(const struct writer *w)
{
    const struct json *u = json_get(w->turn, "usage");
    struct json *usage = json_new_object();
    json_set_int(usage, "input_tokens", (int64_t)json_get_num(u, "input", 10));
    json_set_int(usage, "cache_creation_input_tokens",
                 (int64_t)json_get_num(u, "cacheWrite", 0));
    json_set_int(usage, "cache_read_input_tokens",
                 (int64_t)json_get_num(u, "cacheRead", 0));
    json_set_int(usage, "output_tokens", (int64_t)json_get_num(u, "output", 1));
    return usage;
}

static struct json *message_json_of(const struct writer *w)
{
    struct buf id = {0};
    buf_addf(&id, "msg_%zu", w->n);
    struct json *m = event("message");
    json_set_str(m, "id", buf_cstr(&id));
    json_set_str(m, "role", "assistant");
    const char *model = json_get_str(w->request, "model");
    json_set_str(m, "model", model ? model : "");
    json_set(m, "content", json_new_array());
    json_set(m, "stop_reason", json_new_null());
    json_set(m, "stop_sequence", json_new_null());
    json_set(m, "usage", usage_json(w));
    buf_finish(&id);
    return m;
}

static const char *stop_reason(const struct writer *w)
{
    const char *given = json_get_str(w->turn, "stopReason");
    const struct json *blocks = json_get(w->turn, "blocks");
    bool calls = false;
    for (const struct json *b = json_first(blocks); b; b = json_next(b)) {
        calls |= json_get(b, "call") != NULL;
    }
    if (!given) {
        return calls ? "tool_use" : "end_turn";
    }
    return strcmp(given, "stop") == 0      ? "end_turn"
           : strcmp(given, "length") == 0  ? "max_tokens"
           : strcmp(given, "toolUse") == 0 ? "tool_use"
                                           : given;
}

// The finished block, as a later request sends it back; NULL when its arguments are
// broken.
static struct json *whole_block(const struct writer *w, const struct json *block,
                                size_t b)
{
    struct buf text = {0}, id = {0};
    block_text(&text, block);
    const struct json *call = json_get(block, "call");
    struct json *whole = NULL, *input = NULL;
    if (call) {
        whole = event("tool_use");
        json_set_str(whole, "id", call_id(&id, call, "toolu", w->n, b));
        json_set_str(whole, "name", json_get_str(call, "name"));
        if (text.len == 0) {
            buf_adds(&text, "{}");
        }
        if (json_parse(&input, buf_sv(&text), NULL, NULL) != PI_OK) {
            input = json_new_object();
        }
        json_set(whole, "input", input);
    } else if (json_get(block, "thinking")) {
        const char *signature = json_get_str(block, "signature");
        whole = event("thinking");
        json_set_str(whole, "thinking", buf_cstr(&text));
        json_set_str(whole, "signature", signature ? signature : "");
    } else if (json_get(block, "redacted")) {
        whole = event("redacted_thinking");
        json_set_str(whole, "data", json_get_str(block, "redacted"));
    } else {
        whole = event("text");
        json_set_str(whole, "text", buf_cstr(&text));
    }
    buf_finish(&text);
    buf_finish(&id);
    return whole;
}

// The block as it starts: empty, to be filled by deltas.
static struct json *start_block(const struct json *whole)
{
    struct json *block = json_copy(whole);
    static const char *const filled[] = {"text", "thinking", "signature"};
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        if (json_get_str(block, filled[i])) {
            json_set_str(block, filled[i], "");
        }
    }
    if (json_get(block, "input")) {
        json_set(block, "input", json_new_object());
    }
    return block;
}

static void write_delta(struct writer *w, size_t b, const char *type, const char *key,
                        struct sv text)
{
    struct json *e = event("content_block_delta"), *delta = event(type);
    json_set_int(e, "index", (int64_t)b);
    json_set(delta, key, json_new_string(text));
    json_set(e, "delta", delta);
    write_event(w, "content_block_delta", e);
}

static void write_deltas(struct writer *w, const struct json *block, size_t b)
{
    const char *type = "text_delta", *key = "text";
    if (json_get(block, "call")) {
        type = "input_json_delta";
        key = "partial_json";
        write_delta(w, b, type, key, sv_of(""));
    } else if (json_get(block, "thinking")) {
        type = "thinking_delta";
        key = "thinking";
    }
    struct buf text = {0};
    block_text(&text, block);
    struct sv piece;
    for (size_t at = 0; next_piece(w->turn, buf_sv(&text), &at, &piece);) {
        write_delta(w, b, type, key, piece);
    }
    const char *signature = json_get_str(block, "signature");
    if (signature && json_get(block, "thinking")) {
        write_delta(w, b, "signature_delta", "signature", sv_of(signature));
    }
    buf_finish(&text);
}

static void write_block(struct writer *w, const struct json *block, size_t b)
{
    struct json *whole = whole_block(w, block, b);
    struct json *start = event("content_block_start");
    json_set_int(start, "index", (int64_t)b);
    json_set(start, "content_block", start_block(whole));
    write_event(w, "content_block_start", start);
    json_push(w->out->content, whole);
    write_deltas(w, block, b);
    bool cut = json_get(w->turn, "error") && !json_next(block);
    if (!cut) {
        struct json *stop = event("content_block_stop");
        json_set_int(stop, "index", (int64_t)b);
        write_event(w, "content_block_stop", stop);
    }
    if (json_get_bool(w->turn, "pings", false)) {
        write_event(w, "ping", event("ping"));
    }
}

static void write_whole(struct writer *w)
{
    struct json *m = message_json_of(w);
    size_t b = 0;
    const struct json *blocks = json_get(w->turn, "blocks");
    for (const struct json *j = json_first(blocks); j; j = json_next(j)) {
        json_push(w->out->content, whole_block(w, j, b++));
    }
    json_set(m, "content", json_copy(w->out->content));
    json_set_str(m, "stop_reason", stop_reason(w));
    json_write(&w->out->bytes, m);
    answer_mark(w->out);
    json_destroy(m);
}

static void write_end(struct writer *w)
{
    struct json *e = event("message_delta"), *delta = json_new_object();
    json_set_str(delta, "stop_reason", stop_reason(w));
    json_set(delta, "stop_sequence", json_new_null());
    json_set(e, "delta", delta);
    struct json *usage = json_new_object();
    const struct json *u = json_get(w->turn, "usage");
    json_set_int(usage, "output_tokens", (int64_t)json_get_num(u, "output", 5));
    json_set(e, "usage", usage);
    write_event(w, "message_delta", e);
    write_event(w, "message_stop", event("message_stop"));
}

void format_anthropic(struct writer *w)
{
    if (!w->out->stream) {
        write_whole(w);
        return;
    }
    struct json *start = event("message_start");
    json_set(start, "message", message_json_of(w));
    write_event(w, "message_start", start);
    size_t b = 0;
    const struct json *blocks = json_get(w->turn, "blocks");
    for (const struct json *j = json_first(blocks); j; j = json_next(j)) {
        write_block(w, j, b++);
    }
    const char *failure = json_get_str(w->turn, "error");
    if (!failure) {
        write_end(w);
        return;
    }
    const char *type = json_get_str(w->turn, "errorType");
    struct json *e = event("error"), *error = event(type ? type : "overloaded_error");
    json_set_str(error, "message", failure);
    json_set(e, "error", error);
    write_event(w, "error", e);
}
