#include "text/truncate.h"

#include <stdint.h>
#include <string.h>

#include "text/utf8.h"

// The text without the LF that ends its last line.
static struct sv body_of(struct sv text)
{
    return sv_ends(text, sv_of("\n")) ? sv_make(text.p, text.n - 1) : text;
}

static size_t count_lines(struct sv text)
{
    size_t n = 0;
    struct sv line;
    while (sv_next_line(&text, &line)) {
        n++;
    }
    return n;
}

// What holds when nothing has to go.
static struct truncation whole(struct sv text, size_t max_bytes)
{
    size_t lines = count_lines(text);
    return (struct truncation){
        .kept = text.n <= max_bytes ? text : body_of(text),
        .total_lines = lines,
        .total_bytes = text.n,
        .kept_lines = lines,
    };
}

static bool fits(const struct truncation *t, size_t max_lines, size_t max_bytes)
{
    return t->total_lines <= max_lines && t->kept.n <= max_bytes;
}

struct truncation truncate_head(struct sv text, size_t max_lines, size_t max_bytes)
{
    struct truncation t = whole(text, max_bytes);
    if (fits(&t, max_lines, max_bytes)) {
        return t;
    }
    t.truncated = true;
    t.kept = sv_make(text.p, 0);
    t.kept_lines = 0;
    struct sv rest = text;
    struct sv line;
    while (t.kept_lines < max_lines && sv_next_line(&rest, &line)) {
        size_t end = (size_t)(line.p - text.p) + line.n;
        if (end > max_bytes) {
            t.by_bytes = true;
            t.first_line_exceeds_limit = t.kept_lines == 0;
            break;
        }
        t.kept.n = end;
        t.kept_lines++;
    }
    return t;
}

struct truncation truncate_tail(struct sv text, size_t max_lines, size_t max_bytes)
{
    struct truncation t = whole(text, max_bytes);
    if (fits(&t, max_lines, max_bytes)) {
        return t;
    }
    struct sv body = body_of(text);
    size_t start = body.n; // of what is kept
    size_t end = body.n;   // of the next line to look at
    t.truncated = true;
    t.kept_lines = 0;
    while (t.kept_lines < max_lines && t.kept_lines < t.total_lines) {
        const char *lf = end ? memrchr(body.p, '\n', end) : NULL;
        size_t line = lf ? (size_t)(lf - body.p) + 1 : 0;
        if (body.n - line > max_bytes) {
            t.by_bytes = true;
            break;
        }
        start = line;
        t.kept_lines++;
        end = lf ? line - 1 : 0;
    }
    if (t.by_bytes && t.kept_lines == 0) {
        start = utf8_ceil(body, body.n - max_bytes);
        t.kept_lines = 1;
        t.last_line_partial = true;
    }
    t.kept = sv_from(body, start);
    return t;
}

// "No limit" is written as the largest integer that JSON readers keep exactly.
static int64_t json_limit(size_t n)
{
    const int64_t largest = (INT64_C(1) << 53) - 1;
    return n > (size_t)largest ? largest : (int64_t)n;
}

struct json *truncation_json(const struct truncation *t, size_t max_lines,
                             size_t max_bytes)
{
    const char *by = t->by_bytes ? "bytes" : "lines";
    struct json *j = json_new_object();
    bool ok = json_set_bool(j, "truncated", t->truncated) &&
              json_set(j, "truncatedBy",
                       t->truncated ? json_new_string(sv_of(by)) : json_new_null()) &&
              json_set_int(j, "totalLines", json_limit(t->total_lines)) &&
              json_set_int(j, "totalBytes", json_limit(t->total_bytes)) &&
              json_set_int(j, "outputLines", json_limit(t->kept_lines)) &&
              json_set_int(j, "outputBytes", json_limit(t->kept.n)) &&
              json_set_bool(j, "lastLinePartial", t->last_line_partial) &&
              json_set_bool(j, "firstLineExceedsLimit", t->first_line_exceeds_limit) &&
              json_set_int(j, "maxLines", json_limit(max_lines)) &&
              json_set_int(j, "maxBytes", json_limit(max_bytes));
    if (!ok) {
        json_destroy(j);
        return NULL;
    }
    return j;
}

void size_format(struct buf *b, unsigned long long bytes)
{
    const unsigned long long kib = 1024, mib = kib * kib;
    if (bytes < kib) {
        buf_addf(b, "%lluB", bytes);
        return;
    }
    // In whole numbers: printf would write the decimal point of the locale.
    unsigned long long unit = bytes < mib ? kib : mib;
    unsigned long long tenths = (bytes % unit * 10 + unit / 2) / unit;
    buf_addf(b, "%llu.%llu%s", bytes / unit + tenths / 10, tenths % 10,
             unit == kib ? "KB" : "MB");
}
