#include "llm/body_kind.h"

#include <stdbool.h>
#include <strings.h>

static bool has_type(const char *content_type, const char *type)
{
    return content_type && strcasestr(content_type, type);
}

// BODY_EVENTS, BODY_TEXT, or BODY_UNKNOWN when the word may still become a field's name.
static enum body_kind kind_of_line(struct sv line)
{
    static const char *const fields[] = {"data", "event", "id", "retry"};
    if (line.p[0] == ':') {
        return BODY_EVENTS;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct sv field = sv_of(fields[i]);
        if (sv_starts(field, line)) {
            return BODY_UNKNOWN;
        }
        if (sv_starts(line, field) && strchr(":\r\n", line.p[field.n])) {
            return BODY_EVENTS;
        }
    }
    return BODY_TEXT;
}

enum body_kind body_kind_of(const char *content_type, struct sv start)
{
    struct sv bom = sv_of("\xef\xbb\xbf");
    if (sv_starts(start, bom)) {
        start = sv_from(start, bom.n);
    }
    size_t blank = 0;
    while (blank < start.n && strchr(" \t\r\n", start.p[blank])) {
        blank++;
    }
    start = sv_from(start, blank);
    if (start.n == 0 || sv_starts(bom, start)) {
        return BODY_UNKNOWN;
    }
    // No event begins like these, so they count more than the type.
    if (start.p[0] == '{' || start.p[0] == '[') {
        return BODY_JSON;
    }
    if (start.p[0] == '<') {
        return BODY_HTML;
    }
    if (has_type(content_type, "text/event-stream")) {
        return BODY_EVENTS;
    }
    if (has_type(content_type, "json")) {
        return BODY_JSON;
    }
    return kind_of_line(start);
}
