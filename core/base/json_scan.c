#include "base/json_scan.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8_scan.h"

// What may come next.
enum want {
    WANT_VALUE,
    WANT_FIRST_ITEM, // a value or the end of the array
    WANT_FIRST_KEY,  // a key or the end of the object
    WANT_KEY,
    WANT_COLON,
    WANT_COMMA, // or the end of the array or object
    WANT_END,   // of the text
};

struct scan {
    struct sv text;
    size_t at;
    size_t copied; // text before this is in out already
    struct buf *out;
    unsigned repairs;
    enum want want;
    const char *fault;
    size_t depth;
    bool in_object[JSON_DEPTH_MAX];
};

static bool fault(struct scan *s, const char *what)
{
    s->fault = what;
    return false;
}

static int byte_at(const struct scan *s, size_t at)
{
    return at < s->text.n ? (unsigned char)s->text.p[at] : -1;
}

// Copies what was passed so far, then puts replacement in the place of the next n bytes.
static void replace(struct scan *s, size_t n, const char *replacement)
{
    buf_add(s->out, s->text.p + s->copied, s->at - s->copied);
    buf_adds(s->out, replacement);
    s->at += n;
    s->copied = s->at;
}

// The value of the \uXXXX at offset `at`, -1 when there is none.
static int unit_at(const struct scan *s, size_t at)
{
    if (byte_at(s, at) != '\\' || byte_at(s, at + 1) != 'u') {
        return -1;
    }
    int unit = 0;
    for (size_t i = 2; i < 6; i++) {
        int c = byte_at(s, at + i);
        int lower = c | 0x20;
        if (c >= '0' && c <= '9') {
            unit = unit * 16 + (c - '0');
        } else if (c > 0 && lower >= 'a' && lower <= 'f') {
            unit = unit * 16 + (lower - 'a' + 10);
        } else {
            return -1;
        }
    }
    return unit;
}

static bool scan_unit(struct scan *s)
{
    int unit = unit_at(s, s->at);
    if (unit < 0) {
        return fault(s, "\\u without four hexadecimal digits");
    }
    if (unit == 0) {
        s->repairs |= JSON_HAD_NUL;
        replace(s, 6, "\\ufffd");
        return true;
    }
    if (unit < 0xd800 || unit > 0xdfff) {
        s->at += 6;
        return true;
    }
    int low = unit < 0xdc00 ? unit_at(s, s->at + 6) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
        s->at += 12;
        return true;
    }
    s->repairs |= JSON_HAD_SURROGATE;
    replace(s, 6, "\\ufffd");
    return true;
}

static bool scan_escape(struct scan *s)
{
    int c = byte_at(s, s->at + 1);
    if (c == 'u') {
        return scan_unit(s);
    }
    if (c <= 0 || !strchr("\"\\/bfnrt", c)) {
        return fault(s, "unknown escape in a string");
    }
    s->at += 2;
    return true;
}

static void scan_non_ascii(struct scan *s)
{
    enum utf8_kind kind;
    size_t n = utf8_scan_one(sv_from(s->text, s->at), &kind);
    if (kind == UTF8_GOOD) {
        s->at += n;
        return;
    }
    s->repairs |= JSON_HAD_BAD_UTF8;
    replace(s, n, "\xef\xbf\xbd");
}

static bool plain(unsigned char c)
{
    return c != '"' && c != '\\' && c != 0 && c < 0x80;
}

static bool scan_string(struct scan *s)
{
    size_t start = s->at++;
    while (s->at < s->text.n) {
        unsigned char c = (unsigned char)s->text.p[s->at];
        if (plain(c)) {
            s->at++;
        } else if (c == '"') {
            s->at++;
            return true;
        } else if (c == '\\') {
            if (!scan_escape(s)) {
                return false;
            }
        } else if (c == 0) {
            return fault(s, "a NUL byte in a string");
        } else {
            scan_non_ascii(s);
        }
    }
    s->at = start;
    return fault(s, "a string that does not end");
}

static bool digits(struct scan *s)
{
    size_t start = s->at;
    while (byte_at(s, s->at) >= '0' && byte_at(s, s->at) <= '9') {
        s->at++;
    }
    return s->at > start || fault(s, "a malformed number");
}

static bool scan_number(struct scan *s)
{
    size_t start = s->at;
    if (byte_at(s, s->at) == '-') {
        s->at++;
    }
    if (byte_at(s, s->at) == '0') {
        s->at++;
    } else if (!digits(s)) {
        return false;
    }
    if (byte_at(s, s->at) == '.') {
        s->at++;
        if (!digits(s)) {
            return false;
        }
    }
    if ((byte_at(s, s->at) | 0x20) == 'e') {
        s->at++;
        if (byte_at(s, s->at) == '+' || byte_at(s, s->at) == '-') {
            s->at++;
        }
        if (!digits(s)) {
            return false;
        }
    }
    // The library behind json.c reads no more than 63 characters of a number.
    return s->at - start <= JSON_NUMBER_MAX || fault(s, "a number that is too long");
}

static bool scan_word(struct scan *s)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (sv_starts(sv_from(s->text, s->at), sv_of(words[i]))) {
            s->at += strlen(words[i]);
            return true;
        }
    }
    return fault(s, "no JSON value where one must be");
}

static bool open_level(struct scan *s, bool object)
{
    if (s->depth == JSON_DEPTH_MAX) {
        return fault(s, "nested too deeply");
    }
    s->in_object[s->depth++] = object;
    s->want = object ? WANT_FIRST_KEY : WANT_FIRST_ITEM;
    s->at++;
    return true;
}

static bool end_value(struct scan *s, bool ok)
{
    s->want = s->depth ? WANT_COMMA : WANT_END;
    return ok;
}

static bool close_level(struct scan *s)
{
    s->at++;
    s->depth--;
    return end_value(s, true);
}

static bool scan_value(struct scan *s, int c)
{
    if (c == '{' || c == '[') {
        return open_level(s, c == '{');
    }
    if (c == '"') {
        return end_value(s, scan_string(s));
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return end_value(s, scan_number(s));
    }
    return end_value(s, scan_word(s));
}

static bool scan_comma(struct scan *s, int c)
{
    bool object = s->in_object[s->depth - 1];
    if (c == ',') {
        s->at++;
        s->want = object ? WANT_KEY : WANT_VALUE;
        return true;
    }
    if (c == (object ? '}' : ']')) {
        return close_level(s);
    }
    return fault(s, object ? "no ',' or '}' after a member of an object"
                           : "no ',' or ']' after an item of an array");
}

static bool scan_key(struct scan *s, int c)
{
    if (c != '"') {
        return fault(s, "no quoted key where one must be");
    }
    s->want = WANT_COLON;
    return scan_string(s);
}

static bool scan_token(struct scan *s, int c)
{
    switch (s->want) {
    case WANT_FIRST_ITEM:
        return c == ']' ? close_level(s) : scan_value(s, c);
    case WANT_VALUE:
        return scan_value(s, c);
    case WANT_FIRST_KEY:
        return c == '}' ? close_level(s) : scan_key(s, c);
    case WANT_KEY:
        return scan_key(s, c);
    case WANT_COLON:
        s->at++;
        s->want = WANT_VALUE;
        return c == ':' || fault(s, "no ':' after a key");
    case WANT_COMMA:
        return scan_comma(s, c);
    case WANT_END:
        return fault(s, "more text after the value");
    }
    return false;
}

static bool scan_all(struct scan *s)
{
    if (sv_starts(s->text, sv_of("\xef\xbb\xbf"))) {
        s->at = s->copied = 3;
    }
    while (s->at < s->text.n) {
        int c = byte_at(s, s->at);
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            s->at++;
        } else if (!scan_token(s, c)) {
            return false;
        }
    }
    return s->want == WANT_END || fault(s, "the text ends too early");
}

bool json_scan(struct buf *out, struct sv text, unsigned *repairs, struct json_fault *why)
{
    struct scan s = {.text = text, .out = out};
    buf_reserve(out, text.n);
    bool ok = scan_all(&s);
    if (ok) {
        replace(&s, 0, "");
    }
    *repairs = s.repairs;
    *why = (struct json_fault){.what = s.fault, .offset = s.at};
    return ok && buf_ok(out);
}
