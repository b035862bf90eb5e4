#include "session/entry_head.h"

#include <string.h>

// A walk over JSON text that knows strings and brackets and judges nothing else.
struct walk {
    const char *at, *end;
    bool escaped; // the last string had a backslash
};

static void skip_blanks(struct walk *w)
{
    while (w->at < w->end &&
           (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n')) {
        w->at++;
    }
}

static bool take(struct walk *w, char c)
{
    skip_blanks(w);
    if (w->at < w->end && *w->at == c) {
        w->at++;
        return true;
    }
    return false;
}

// The inside of the string that begins here, still escaped; false when it does not end.
static bool take_string(struct walk *w, struct sv *out)
{
    const char *start = ++w->at;
    w->escaped = false;
    for (; w->at < w->end; w->at++) {
        if (*w->at == '\\') {
            w->escaped = true;
            w->at++;
        } else if (*w->at == '"') {
            *out = sv_make(start, (size_t)(w->at++ - start));
            return true;
        }
    }
    w->at = w->end;
    return false;
}

// Passes over a value; false when it does not end within the text.
static bool skip_value(struct walk *w)
{
    unsigned long depth = 0;
    struct sv ignored;
    while (w->at < w->end) {
        char c = *w->at;
        if (c == '"') {
            if (!take_string(w, &ignored)) {
                return false;
            }
        } else if (c == '{' || c == '[') {
            depth++;
            w->at++;
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return true;
        } else {
            depth -= c == '}' || c == ']';
            w->at++;
        }
    }
    return false;
}

// True when the member is one of ours.
static bool note_member(struct entry_head *out, struct sv key, struct sv value)
{
    const struct {
        const char *key;
        struct sv *place;
    } wanted[] = {{"type", &out->type},
                  {"id", &out->id},
                  {"parentId", &out->parent},
                  {"timestamp", &out->timestamp}};
    out->parent_given = out->parent_given || sv_eqs(key, "parentId");
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (sv_eqs(key, wanted[i].key)) {
            *wanted[i].place = value;
            return true;
        }
    }
    return false;
}

static bool complete(const struct entry_head *h)
{
    return h->type.p && h->id.p && h->parent_given && h->timestamp.p;
}

// One member. Anything but OK ends the reading.
static enum entry_head_result read_member(struct entry_head *out, struct walk *w,
                                          enum entry_head_result at_end)
{
    struct sv key;
    struct sv value = {0}; // of what is no string
    skip_blanks(w);
    if (w->at < w->end && *w->at != '"') {
        return ENTRY_HEAD_BAD;
    }
    if (w->at == w->end || !take_string(w, &key)) {
        return at_end;
    }
    bool escaped = w->escaped;
    if (!take(w, ':')) {
        return w->at == w->end ? at_end : ENTRY_HEAD_BAD;
    }
    skip_blanks(w);
    w->escaped = false;
    bool is_string = w->at < w->end && *w->at == '"';
    if (is_string ? !take_string(w, &value) : !skip_value(w)) {
        return at_end;
    }
    escaped = escaped || (is_string && w->escaped);
    bool ours = note_member(out, key, value);
    // Names and values with escapes are for a parser.
    return escaped && (ours || memchr(key.p, '\\', key.n)) ? ENTRY_HEAD_PARSE
                                                           : ENTRY_HEAD_OK;
}

enum entry_head_result entry_head_read(struct entry_head *out, struct sv text, bool cut)
{
    struct walk w = {.at = text.p, .end = text.p + text.n};
    enum entry_head_result at_end = cut ? ENTRY_HEAD_PARSE : ENTRY_HEAD_BAD;
    *out = (struct entry_head){0};
    if (!text.p || !take(&w, '{')) {
        return ENTRY_HEAD_BAD;
    }
    if (take(&w, '}')) {
        return ENTRY_HEAD_OK;
    }
    do {
        enum entry_head_result result = read_member(out, &w, at_end);
        if (result != ENTRY_HEAD_OK || complete(out)) {
            return result;
        }
    } while (take(&w, ','));
    if (take(&w, '}')) {
        return ENTRY_HEAD_OK;
    }
    skip_blanks(&w);
    return w.at == w.end ? at_end : ENTRY_HEAD_BAD;
}
