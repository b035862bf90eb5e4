#include "base/json_prefix.h"

#include <string.h>

enum state {
    AT_VALUE,          // a value must come
    AT_VALUE_OR_CLOSE, // after [
    AT_KEY_OR_CLOSE,   // after {
    AT_KEY,            // after a comma in an object
    AT_COLON,
    AT_NEXT, // a value has ended inside a container
    IN_STRING,
    IN_ESCAPE,
    IN_HEX,
    IN_NUMBER,
    IN_WORD,
    AT_END,
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool in_object(const struct json_prefix *s)
{
    unsigned level = s->depth - 1;
    return s->depth > 0 && (s->objects[level / 64] >> (level % 64) & 1);
}

static bool open_container(struct json_prefix *s, bool object)
{
    if (s->depth == JSON_PREFIX_DEPTH) {
        return false;
    }
    uint64_t bit = (uint64_t)1 << (s->depth % 64);
    if (object) {
        s->objects[s->depth / 64] |= bit;
    } else {
        s->objects[s->depth / 64] &= ~bit;
    }
    s->depth++;
    s->state = object ? AT_KEY_OR_CLOSE : AT_VALUE_OR_CLOSE;
    s->safe = s->offset + 1;
    return true;
}

static void value_ended(struct json_prefix *s)
{
    s->state = s->depth > 0 ? AT_NEXT : AT_END;
    s->safe = s->offset + 1;
}

static bool close_container(struct json_prefix *s, char c)
{
    if (s->depth == 0 || c != (in_object(s) ? '}' : ']')) {
        return false;
    }
    s->depth--;
    value_ended(s);
    return true;
}

static bool open_string(struct json_prefix *s, bool key)
{
    s->state = IN_STRING;
    s->key = key;
    s->edge = s->offset + 1;
    return true;
}

static bool open_word(struct json_prefix *s, const char *word)
{
    s->state = IN_WORD;
    s->word = word;
    s->word_at = 1;
    return true;
}

static bool at_value(struct json_prefix *s, char c)
{
    switch (c) {
    case '{':
    case '[':
        return open_container(s, c == '{');
    case '"':
        return open_string(s, false);
    case 't':
        return open_word(s, "true");
    case 'f':
        return open_word(s, "false");
    case 'n':
        return open_word(s, "null");
    default:
        break;
    }
    if (c != '-' && !is_digit(c)) {
        return false;
    }
    s->state = IN_NUMBER;
    s->last = c;
    if (c != '-') {
        s->safe = s->offset + 1;
    }
    return true;
}

static bool at_next(struct json_prefix *s, char c)
{
    if (c == ',') {
        s->state = in_object(s) ? AT_KEY : AT_VALUE;
        return true;
    }
    return close_container(s, c);
}

static bool in_string(struct json_prefix *s, char c)
{
    if (c == '\\') {
        s->state = IN_ESCAPE;
        return true;
    }
    if (c != '"') {
        s->edge = s->offset + 1;
    } else if (s->key) {
        s->key = false;
        s->state = AT_COLON;
    } else {
        value_ended(s);
    }
    return true;
}

static bool in_escape(struct json_prefix *s, char c)
{
    s->state = c == 'u' ? IN_HEX : IN_STRING;
    s->hex = 4;
    if (c != 'u') {
        s->edge = s->offset + 1;
    }
    return true;
}

static bool in_hex(struct json_prefix *s, char c)
{
    if (!is_hex(c)) {
        s->state = IN_STRING;
        return in_string(s, c);
    }
    if (--s->hex == 0) {
        s->state = IN_STRING;
        s->edge = s->offset + 1;
    }
    return true;
}

static bool in_number(struct json_prefix *s, char c)
{
    if (is_digit(c) || strchr("+-.eE", c)) {
        s->last = c;
        if (is_digit(c)) {
            s->safe = s->offset + 1;
        }
        return c != '\0';
    }
    if (!is_digit(s->last)) {
        return false;
    }
    s->state = s->depth > 0 ? AT_NEXT : AT_END;
    return is_space(c) || (s->depth > 0 && at_next(s, c));
}

static bool in_word(struct json_prefix *s, char c)
{
    if (c != s->word[s->word_at]) {
        return false;
    }
    if (s->word[++s->word_at] == '\0') {
        value_ended(s);
    }
    return true;
}

// json_parse passes over one, too.
static bool is_byte_order_mark(const struct json_prefix *s, char c)
{
    return s->state == AT_VALUE && s->depth == 0 && s->offset < 3 &&
           c == "\xEF\xBB\xBF"[s->offset];
}

static bool take(struct json_prefix *s, char c)
{
    switch (s->state) {
    case IN_STRING:
        return in_string(s, c);
    case IN_ESCAPE:
        return in_escape(s, c);
    case IN_HEX:
        return in_hex(s, c);
    case IN_NUMBER:
        return in_number(s, c);
    case IN_WORD:
        return in_word(s, c);
    default:
        break;
    }
    if (is_space(c) || is_byte_order_mark(s, c)) {
        return true;
    }
    switch (s->state) {
    case AT_VALUE:
        return at_value(s, c);
    case AT_VALUE_OR_CLOSE:
        return c == ']' ? close_container(s, c) : at_value(s, c);
    case AT_KEY_OR_CLOSE:
        return c == '}' ? close_container(s, c) : c == '"' && open_string(s, true);
    case AT_KEY:
        return c == '"' && open_string(s, true);
    case AT_COLON:
        s->state = AT_VALUE;
        return c == ':';
    case AT_NEXT:
        return at_next(s, c);
    default:
        return false;
    }
}

bool json_prefix_feed(struct json_prefix *s, struct sv bytes)
{
    for (size_t i = 0; i < bytes.n && !s->bad; i++) {
        unsigned char before = s->state;
        if (take(s, bytes.p[i])) {
            s->offset++;
        } else {
            s->bad = true;
            s->state = before;
        }
    }
    return !s->bad;
}

bool json_prefix_complete(const struct json_prefix *s)
{
    return !s->bad && (s->state == AT_END ||
                       (s->state == IN_NUMBER && s->depth == 0 && is_digit(s->last)));
}

// Bytes at the end of text that are the beginning of a longer UTF-8 sequence.
static size_t open_sequence(struct sv text)
{
    for (size_t back = 1; back <= 3 && back <= text.n; back++) {
        unsigned char c = (unsigned char)text.p[text.n - back];
        if ((c & 0xC0) != 0x80) {
            size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
            return need > back ? back : 0;
        }
    }
    return 0;
}

void json_prefix_close(const struct json_prefix *s, struct sv text, struct buf *out)
{
    bool string =
        !s->key && (s->state == IN_STRING || s->state == IN_ESCAPE || s->state == IN_HEX);
    size_t end = string ? s->edge : s->safe;
    if (string) {
        end -= open_sequence(sv_make(text.p, end));
    }
    buf_add(out, text.p, end);
    if (string) {
        buf_addc(out, '"');
    }
    struct json_prefix level = *s;
    for (; level.depth > 0; level.depth--) {
        buf_addc(out, in_object(&level) ? '}' : ']');
    }
}

// Bytes of the escape at the start of text, 0 when JSON does not know it.
static size_t known_escape(struct sv text)
{
    if (text.n >= 2 && text.p[1] != '\0' && strchr("\"\\/bfnrt", text.p[1])) {
        return 2;
    }
    if (text.n < 6 || text.p[1] != 'u') {
        return 0;
    }
    for (size_t i = 2; i < 6; i++) {
        if (!is_hex(text.p[i])) {
            return 0;
        }
    }
    return 6;
}

static size_t repair_in_string(struct buf *out, struct sv rest)
{
    unsigned char c = (unsigned char)*rest.p;
    if (c == '\\') {
        size_t n = known_escape(rest);
        buf_add(out, n > 0 ? rest.p : "\\\\", n > 0 ? n : 2);
        return n > 0 ? n : 1;
    }
    if (c < 0x20) {
        buf_addf(out, "\\u%04x", (unsigned)c);
    } else {
        buf_addc(out, (char)c);
    }
    return 1;
}

void json_prefix_repair(struct buf *out, struct sv text)
{
    bool string = false;
    for (struct sv rest = text; rest.n > 0;) {
        if (*rest.p == '"') {
            string = !string;
        }
        size_t n = 1;
        if (string && *rest.p != '"') {
            n = repair_in_string(out, rest);
        } else {
            buf_addc(out, *rest.p);
        }
        rest = sv_from(rest, n);
    }
}
