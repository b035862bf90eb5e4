#include "edit_unit.h"

#include "text/utf8.h"

// Bytes that are not UTF-8 become units above all code points.
enum { BAD_BYTE = 0x200000 };

struct edit_reader edit_reader_make(struct sv text, size_t at, size_t limit,
                                    enum edit_level level)
{
    return (struct edit_reader){
        .text = text,
        .at = at,
        .limit = limit < text.n ? limit : text.n,
        .level = level,
    };
}

size_t edit_line_end(struct sv text, size_t at)
{
    if (at < text.n && text.p[at] == '\n') {
        return 1;
    }
    return at + 1 < text.n && text.p[at] == '\r' && text.p[at + 1] == '\n' ? 2 : 0;
}

size_t edit_char(struct sv text, size_t at)
{
    if ((unsigned char)text.p[at] < 0x80) {
        return 1;
    }
    size_t n = utf8_sequence(sv_from(text, at));
    return n ? n : 1;
}

static size_t blank(struct sv text, size_t at)
{
    unsigned char c = (unsigned char)text.p[at];
    if (c < 0x80) {
        return fold_is_blank(c) ? 1 : 0;
    }
    struct sv rest = sv_from(text, at);
    size_t n = utf8_sequence(rest);
    return n && fold_is_blank(utf8_next(&rest)) ? n : 0;
}

size_t edit_blanks(struct sv text, size_t at, size_t *n)
{
    size_t end = at;
    size_t count = 0;
    while (end < text.n) {
        size_t len = blank(text, end);
        if (len == 0) {
            break;
        }
        end += len;
        count++;
    }
    if (n) {
        *n = count;
    }
    return end - at;
}

static void give(struct edit_unit *unit, uint32_t code, size_t start, size_t end)
{
    *unit = (struct edit_unit){code, start, end, true, true};
}

static bool may_be_blank(const struct edit_reader *r)
{
    unsigned char c = (unsigned char)r->text.p[r->at];
    return c <= ' ' || c >= 0x80;
}

// Steps over blanks that end a line. Other blanks are remembered, so that a long run is
// looked at once.
static void skip_trailing(struct edit_reader *r)
{
    if (r->at < r->blank_end) {
        return;
    }
    size_t end = r->at + edit_blanks(r->text, r->at, NULL);
    if (end == r->text.n || edit_line_end(r->text, end) > 0) {
        r->at = end;
    }
    r->blank_end = end;
}

static bool next_queued(struct edit_reader *r, struct edit_unit *unit)
{
    *unit = (struct edit_unit){
        .code = r->queue[r->taken],
        .start = r->start,
        .end = r->at,
        .first = r->taken == 0,
        .last = r->taken + 1 == r->queued,
    };
    r->taken++;
    return true;
}

static bool next_char(struct edit_reader *r, struct edit_unit *unit)
{
    unsigned char c = (unsigned char)r->text.p[r->at];
    if (c < 0x80) {
        give(unit, c, r->at, r->at + 1);
        r->at++;
        return true;
    }
    struct sv rest = sv_from(r->text, r->at);
    size_t n = utf8_sequence(rest);
    if (n == 0) {
        give(unit, BAD_BYTE + c, r->at, r->at + 1);
        r->at++;
        return true;
    }
    r->start = r->at;
    r->at += n;
    r->queued = (unsigned)fold_char(utf8_next(&rest), r->queue);
    r->taken = 0;
    return next_queued(r, unit);
}

bool edit_reader_next(struct edit_reader *r, struct edit_unit *unit)
{
    if (r->taken < r->queued) {
        return next_queued(r, unit);
    }
    if (r->at >= r->limit) {
        return false;
    }
    if (r->level == EDIT_FUZZY && may_be_blank(r)) {
        skip_trailing(r);
        if (r->at >= r->limit) {
            return false;
        }
    }
    size_t at = r->at;
    size_t line_end = r->level == EDIT_EXACT ? 0 : edit_line_end(r->text, at);
    if (line_end > 0) {
        give(unit, '\n', at, at + line_end);
        r->at += line_end;
        return true;
    }
    if (r->level == EDIT_FUZZY) {
        return next_char(r, unit);
    }
    give(unit, (unsigned char)r->text.p[at], at, at + 1);
    r->at++;
    return true;
}
