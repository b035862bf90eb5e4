#include "net/sse.h"

#include <string.h>

void sse_finish(struct sse *s)
{
    buf_finish(&s->line);
    buf_finish(&s->name);
    buf_finish(&s->data);
    *s = (struct sse){0};
}

static void dispatch(struct sse *s, sse_handler handler, void *data)
{
    if (s->has_data) {
        struct sse_event event = {.name = buf_sv(&s->name), .data = buf_sv(&s->data)};
        s->stopped = !handler(data, &event);
    }
    buf_clear(&s->name);
    buf_clear(&s->data);
    s->has_data = false;
}

static void field(struct sse *s, struct sv name, struct sv value)
{
    if (sv_eqs(name, "data")) {
        if (s->has_data) {
            buf_addc(&s->data, '\n');
        }
        buf_addsv(&s->data, value);
        s->has_data = true;
    } else if (sv_eqs(name, "event")) {
        buf_clear(&s->name);
        buf_addsv(&s->name, value);
    }
}

static void end_line(struct sse *s, sse_handler handler, void *data)
{
    struct sv line = buf_sv(&s->line);
    if (line.n == 0) {
        dispatch(s, handler, data);
    } else if (line.p[0] != ':') {
        const char *colon = memchr(line.p, ':', line.n);
        size_t n = colon ? (size_t)(colon - line.p) : line.n;
        struct sv value = sv_from(line, colon ? n + 1 : n);
        if (value.n > 0 && value.p[0] == ' ') {
            value = sv_from(value, 1);
        }
        field(s, sv_make(line.p, n), value);
    }
    buf_clear(&s->line);
}

// Skips the byte order mark; bytes that only began like one go into the line.
static void skip_bom(struct sse *s, struct sv *bytes)
{
    static const char bom[] = "\xef\xbb\xbf";
    while (s->bom < 3 && bytes->n > 0) {
        if (bytes->p[0] != bom[s->bom]) {
            buf_add(&s->line, bom, s->bom);
            s->bom = 4;
            return;
        }
        s->bom++;
        *bytes = sv_from(*bytes, 1);
    }
    if (s->bom == 3) {
        s->bom = 4;
    }
}

static size_t line_length(struct sv bytes)
{
    const char *lf = memchr(bytes.p, '\n', bytes.n);
    size_t n = lf ? (size_t)(lf - bytes.p) : bytes.n;
    const char *cr = memchr(bytes.p, '\r', n);
    return cr ? (size_t)(cr - bytes.p) : n;
}

enum pi_status sse_feed(struct sse *s, struct sv bytes, sse_handler handler, void *data,
                        struct pi_error *err)
{
    if (s->bom < 4) {
        skip_bom(s, &bytes);
    }
    while (bytes.n > 0 && !s->stopped) {
        if (s->after_cr) {
            s->after_cr = false;
            if (bytes.p[0] == '\n') {
                bytes = sv_from(bytes, 1);
                continue;
            }
        }
        size_t n = line_length(bytes);
        buf_add(&s->line, bytes.p, n);
        if (!buf_ok(&s->line)) {
            return error_nomem(err); // before the end of the line forgets it
        }
        if (s->line.len + s->data.len > SSE_EVENT_MAX) {
            return error_set(err, PI_LIMIT,
                             "the server sent an event of more than %d MiB",
                             SSE_EVENT_MAX / (1024 * 1024));
        }
        if (n < bytes.n) {
            s->after_cr = bytes.p[n] == '\r';
            end_line(s, handler, data);
            n++;
        }
        if (!buf_ok(&s->name) || !buf_ok(&s->data)) {
            return error_nomem(err);
        }
        bytes = sv_from(bytes, n);
    }
    return PI_OK;
}

void sse_end(struct sse *s, sse_handler handler, void *data)
{
    if (!s->stopped) {
        dispatch(s, handler, data);
    }
}
