#include "base/json_relaxed.h"

#include <string.h>

#include "base/json_scan.h"

// The index behind the string that starts at i.
static size_t string_end(const char *text, size_t n, size_t i)
{
    for (i++; i < n && text[i] != '"'; i++) {
        if (text[i] == '\\') {
            i++;
        }
    }
    return i < n ? i + 1 : n;
}

static size_t blank_comment(char *text, size_t n, size_t i)
{
    const char *lf = memchr(text + i, '\n', n - i);
    size_t end = lf ? (size_t)(lf - text) : n;
    memset(text + i, ' ', end - i);
    return end;
}

void json_relax(char *text, size_t n)
{
    char before = '\0'; // the last character that is no blank
    size_t comma = n;   // the comma behind which nothing came yet
    size_t i = 0;
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        memset(text, ' ', 3);
    }
    while (i < n) {
        char c = text[i];
        if (strchr(" \t\r\n", c) && c) {
            i++;
            continue;
        }
        if (c == '/' && i + 1 < n && text[i + 1] == '/') {
            i = blank_comment(text, n, i);
            continue;
        }
        if ((c == ']' || c == '}') && comma < n) {
            text[comma] = ' ';
        }
        // A comma behind a value may be left over; one behind "[" or "," is a mistake.
        bool behind_value = before != '\0' && !strchr("[{,:", before);
        comma = c == ',' && behind_value ? i : n;
        i = c == '"' ? string_end(text, n, i) : i + 1;
        before = c;
    }
}

static enum pi_status explain(struct sv text, const struct json_fault *fault,
                              struct pi_error *err)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < fault->offset && i < text.n; i++) {
        if (text.p[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    return error_set(err, PI_INVALID, "line %zu, column %zu: %s", line,
                     fault->offset - start + 1, fault->what);
}

enum pi_status json_parse_relaxed(struct json **out, struct sv text, unsigned *repairs,
                                  struct pi_error *err)
{
    struct buf copy = {0}, scanned = {0};
    struct json_fault fault = {0};
    unsigned bits = 0;
    enum pi_status st = PI_OK;
    buf_addsv(&copy, text);
    if (!buf_ok(&copy)) {
        st = error_nomem(err);
        goto out;
    }
    if (copy.len > 0) {
        json_relax(copy.data, copy.len);
    }
    // Looked at on its own first, for the place of a mistake.
    if (!json_scan(&scanned, buf_sv(&copy), &bits, &fault)) {
        st = fault.what ? explain(text, &fault, err) : error_nomem(err);
        goto out;
    }
    st = json_parse(out, buf_sv(&copy), repairs, err);
out:
    buf_finish(&scanned);
    buf_finish(&copy);
    return st;
}
