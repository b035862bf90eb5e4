#include "mock_format.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void answer_finish(struct answer *a)
{
    buf_finish(&a->bytes);
    free(a->ends);
    json_destroy(a->content);
    *a = (struct answer){0};
}

void answer_mark(struct answer *a)
{
    void *grown = vec_grow(a->ends, &a->cap, a->len + 1, sizeof *a->ends);
    if (!grown) {
        perror("pi-mock");
        exit(1);
    }
    a->ends = grown;
    a->ends[a->len++] = a->bytes.len;
}

/* -- events -- */

static void write_line(struct writer *w, const char *field, struct sv value)
{
    buf_adds(&w->out->bytes, field);
    buf_addsv(&w->out->bytes, value);
    buf_adds(&w->out->bytes, w->line_end);
}

// JSON without a byte above 127: characters as \u, in pairs where they need it.
static void write_ascii(struct buf *out, struct sv text)
{
    for (size_t i = 0; i < text.n;) {
        unsigned char c = (unsigned char)text.p[i++];
        if (c < 0x80) {
            buf_addc(out, (char)c);
            continue;
        }
        unsigned more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        uint32_t code = c & (0x3fu >> more);
        for (; more > 0 && i < text.n; more--) {
            code = code << 6 | ((unsigned char)text.p[i++] & 0x3fu);
        }
        if (code >= 0x10000) {
            code -= 0x10000;
            buf_addf(out, "\\u%04x", 0xd800u + (code >> 10));
            code = 0xdc00u + (code & 0x3ffu);
        }
        buf_addf(out, "\\u%04x", (unsigned)code);
    }
}

static void write_data(struct writer *w, struct sv data)
{
    // The first comma of our events stands behind a plain string.
    const char *comma = json_get_bool(w->turn, "multiline", false) && data.n
                            ? memchr(data.p, ',', data.n)
                            : NULL;
    if (comma) {
        size_t n = (size_t)(comma - data.p) + 1;
        write_line(w, "data: ", sv_sub(data, 0, n));
        data = sv_from(data, n);
    }
    write_line(w, "data: ", data);
}

void write_event_text(struct writer *w, const char *name, const char *data)
{
    if (json_get_bool(w->turn, "comments", false)) {
        write_line(w, ": still here", sv_of(""));
        buf_adds(&w->out->bytes, w->line_end);
    }
    if (name) {
        write_line(w, "event: ", sv_of(name));
    }
    write_data(w, sv_of(data));
    buf_adds(&w->out->bytes, w->line_end);
    answer_mark(w->out);
}

void write_event(struct writer *w, const char *name, struct json *data)
{
    struct buf text = {0}, ascii = {0};
    json_write(&text, data);
    json_destroy(data);
    bool as_ascii = json_get_bool(w->turn, "ascii", false);
    if (as_ascii) {
        write_ascii(&ascii, buf_sv(&text));
    }
    write_event_text(w, name, buf_cstr(as_ascii ? &ascii : &text));
    buf_finish(&text);
    buf_finish(&ascii);
}

/* -- blocks -- */

bool next_piece(const struct json *turn, struct sv text, size_t *at, struct sv *piece)
{
    size_t chunk = (size_t)json_get_num(turn, "chunk", 16);
    if (*at >= text.n) {
        return false;
    }
    size_t end = chunk == 0 || text.n - *at <= chunk ? text.n : *at + chunk;
    while (end < text.n && ((unsigned char)text.p[end] & 0xc0) == 0x80) {
        end++;
    }
    *piece = sv_sub(text, *at, end - *at);
    *at = end;
    return true;
}

void block_text(struct buf *out, const struct json *block)
{
    const struct json *repeat = json_get(block, "repeatText");
    const struct json *call = json_get(block, "call");
    for (double n = json_get_num(repeat, "n", 0); n > 0; n--) {
        buf_adds(out, json_get_str(repeat, "s"));
    }
    if (call && json_get_str(call, "argumentsText")) {
        buf_adds(out, json_get_str(call, "argumentsText"));
    } else if (call && json_get(call, "arguments")) {
        json_write(out, json_get(call, "arguments"));
    }
    const char *text = json_get_str(block, "text");
    const char *thinking = json_get_str(block, "thinking");
    buf_adds(out, text ? text : thinking ? thinking : "");
}

const char *call_id(struct buf *out, const struct json *call, const char *prefix,
                    size_t n, size_t b)
{
    const char *id = json_get_str(call, "id");
    if (id) {
        buf_adds(out, id);
    } else {
        buf_addf(out, "%s_%zu_%zu", prefix, n, b);
    }
    return buf_cstr(out);
}

/* -- answers -- */

static void add_raw(struct answer *out, const struct json *raw)
{
    const struct json *j = json_type(raw) == JSON_ARRAY ? json_first(raw) : raw;
    for (; j; j = j == raw ? NULL : json_next(j)) {
        buf_adds(&out->bytes, json_str(j));
        answer_mark(out);
    }
}

static void add_keep_alives(struct writer *w)
{
    for (double n = json_get_num(w->turn, "keepAlives", 0); n > 0; n--) {
        write_line(w, ": wait", sv_of(""));
        buf_adds(&w->out->bytes, w->line_end);
        answer_mark(w->out);
    }
}

void format_answer(struct answer *out, const char *api, const struct json *turn,
                   const struct json *request, size_t n)
{
    const char *end = json_get_str(turn, "lineEnd");
    struct writer w = {.out = out, .turn = turn, .request = request, .n = n};
    w.line_end = end && strcmp(end, "crlf") == 0 ? "\r\n"
                 : end && strcmp(end, "cr") == 0 ? "\r"
                                                 : "\n";
    out->content = json_new_array();
    out->stream = json_get_bool(turn, "stream", json_get_bool(request, "stream", false));
    add_keep_alives(&w);
    if (json_get(turn, "raw")) {
        add_raw(out, json_get(turn, "raw"));
        return;
    }
    if (strcmp(api, "anthropic-messages") == 0) {
        format_anthropic(&w);
    } else {
        format_chat(&w);
    }
    size_t blank = strlen(w.line_end);
    if (!json_get_bool(turn, "finalBlank", true) && out->len > 0) {
        buf_truncate(&out->bytes, out->bytes.len - blank);
        out->ends[out->len - 1] -= blank;
    }
}

static const char *error_type(int status)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{401, "authentication_error"}, {403, "permission_error"},
                 {404, "not_found_error"},      {413, "request_too_large"},
                 {429, "rate_limit_error"},     {500, "api_error"},
                 {529, "overloaded_error"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].status == status) {
            return types[i].type;
        }
    }
    return "invalid_request_error";
}

void format_error(struct buf *out, const char *api, int status, const char *message)
{
    struct json *root = json_new_object(), *error = json_new_object();
    if (strcmp(api, "anthropic-messages") == 0) {
        json_set_str(root, "type", "error");
    }
    json_set_str(error, "type", error_type(status));
    json_set_str(error, "message", message);
    json_set(root, "error", error);
    json_write(out, root);
    json_destroy(root);
}

/* -- gzip -- */

static uint32_t crc_of(struct sv bytes)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < bytes.n; i++) {
        crc ^= (unsigned char)bytes.p[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

static void add_little(struct buf *out, uint32_t value, int bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) {
        buf_addc(out, (char)(value & 0xff));
    }
}

static void add_stored(struct buf *out, struct sv bytes, bool last)
{
    buf_addc(out, last ? 1 : 0);
    add_little(out, (uint32_t)bytes.n, 2);
    add_little(out, ~(uint32_t)bytes.n, 2);
    buf_addsv(out, bytes);
}

void answer_gzip(struct answer *a)
{
    struct buf plain = a->bytes, out = {0};
    buf_add(&out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    size_t from = 0;
    for (size_t i = 0; i < a->len; i++) {
        for (; from < a->ends[i];) {
            size_t n = a->ends[i] - from < 65535 ? a->ends[i] - from : 65535;
            add_stored(&out, sv_sub(buf_sv(&plain), from, n), false);
            from += n;
        }
        a->ends[i] = out.len;
    }
    add_stored(&out, sv_of(""), true);
    add_little(&out, crc_of(buf_sv(&plain)), 4);
    add_little(&out, (uint32_t)plain.len, 4);
    a->bytes = out;
    answer_mark(a);
    buf_finish(&plain);
}
