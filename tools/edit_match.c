#include "edit_match.h"

#include <stdlib.h>

#include "base/vec.h"
#include "text/utf8.h"

enum { ANCHOR_MAX = 64 };
#define NOWHERE SIZE_MAX

// oldText as units of one level, with the failure table of Knuth, Morris and Pratt. The
// anchor is a piece of one of its lines that stands as it is in every line that matches,
// unless that line holds bytes beyond ASCII.
struct pattern {
    enum edit_level level;
    struct sv old;
    uint32_t *codes;
    size_t len, cap;
    size_t *fail;    // len + 1
    size_t *starts;  // ring: where the last len units of the text start
    bool lead_blank; // a blank line was dropped at the front
    size_t tail_at;  // where the white space at the end of old begins
    size_t lines;    // line ends in it
    char anchor[ANCHOR_MAX];
    size_t anchor_len;
    size_t anchor_line; // line ends before the anchor
};

static void pattern_finish(struct pattern *p)
{
    free(p->codes);
    free(p->fail);
    free(p->starts);
}

static void find_tail(struct pattern *p)
{
    p->tail_at = p->old.n;
    if (p->level != EDIT_FUZZY) {
        return;
    }
    for (size_t at = 0; at < p->old.n;) {
        size_t n = edit_blanks(p->old, at, NULL);
        if (n > 0 && at + n == p->old.n) {
            p->tail_at = at;
        }
        at += n;
        at += at < p->old.n ? edit_char(p->old, at) : 0;
    }
}

static bool read_units(struct pattern *p)
{
    struct edit_reader r = edit_reader_make(p->old, 0, p->old.n, p->level);
    struct edit_unit u;
    while (edit_reader_next(&r, &u)) {
        uint32_t *grown = vec_grow(p->codes, &p->cap, p->len + 1, sizeof(*grown));
        if (!grown) {
            return false;
        }
        p->codes = grown;
        p->lead_blank = p->lead_blank || (p->len == 0 && u.start > 0);
        p->codes[p->len++] = u.code;
    }
    return true;
}

static void choose_anchor(struct pattern *p)
{
    uint32_t limit = p->level == EDIT_FUZZY ? 0x80 : 0x100;
    size_t run = 0;
    for (size_t i = 0; i < p->len; i++) {
        bool usable = p->codes[i] != '\n' && p->codes[i] < limit;
        p->lines += p->codes[i] == '\n';
        run = usable ? run + 1 : 0;
        if (run > p->anchor_len && run <= ANCHOR_MAX) {
            p->anchor_len = run;
            p->anchor_line = p->lines;
            for (size_t k = 0; k < run; k++) {
                p->anchor[k] = (char)p->codes[i + 1 - run + k];
            }
        }
    }
}

static bool build_tables(struct pattern *p)
{
    p->fail = calloc(p->len + 1, sizeof(*p->fail));
    p->starts = calloc(p->len, sizeof(*p->starts));
    if (!p->fail || !p->starts) {
        return false;
    }
    size_t k = 0;
    for (size_t i = 1; i < p->len; i++) {
        while (k > 0 && p->codes[k] != p->codes[i]) {
            k = p->fail[k];
        }
        k += p->codes[k] == p->codes[i];
        p->fail[i + 1] = k;
    }
    return true;
}

static enum pi_status pattern_init(struct pattern *p, struct sv old,
                                   enum edit_level level, struct pi_error *err)
{
    *p = (struct pattern){.old = old, .level = level};
    find_tail(p);
    if (!read_units(p)) {
        return error_nomem(err);
    }
    if (p->len == 0) {
        return PI_OK;
    }
    choose_anchor(p);
    return build_tables(p) ? PI_OK : error_nomem(err);
}

// ---- what a hit must fulfil besides equal units

static size_t line_start(struct sv text, size_t at)
{
    const char *lf = at > 0 ? memrchr(text.p, '\n', at) : NULL;
    return lf ? (size_t)(lf - text.p) + 1 : 0;
}

static bool only_blanks(struct sv text, size_t from, size_t to)
{
    return edit_blanks(sv_make(text.p, to), from, NULL) == to - from;
}

static uint32_t blank_code(struct sv text, size_t at)
{
    struct sv rest = sv_from(text, at);
    uint32_t codes[FOLD_MAX];
    fold_char(utf8_next(&rest), codes);
    return codes[0];
}

// The white space at the end of old stands for the white space at the end of a line, else
// for itself. Moves *end behind it.
static bool match_tail(const struct pattern *p, struct sv text, size_t *end)
{
    if (p->tail_at == p->old.n) {
        return true;
    }
    size_t to = *end + edit_blanks(text, *end, NULL);
    if (to == text.n || edit_line_end(text, to) > 0) {
        *end = to;
        return true;
    }
    size_t at = *end;
    for (size_t k = p->tail_at; k < p->old.n; k += edit_char(p->old, k)) {
        if (at == to || blank_code(text, at) != blank_code(p->old, k)) {
            return false;
        }
        at += edit_char(text, at);
    }
    *end = at;
    return true;
}

// A blank line at the front of old stands for a blank line, not for the end of any line.
static bool match_lead(const struct pattern *p, struct sv text, size_t *start)
{
    if (!p->lead_blank) {
        return true;
    }
    size_t from = line_start(text, *start);
    if (!only_blanks(text, from, *start)) {
        return false;
    }
    *start = from;
    return true;
}

// ---- scanning

static void scan(struct edit_match *out, struct pattern *p, struct sv text, size_t from,
                 size_t to)
{
    struct edit_reader r = edit_reader_make(text, from, to, p->level);
    struct edit_unit u;
    size_t state = 0;
    size_t slot = 0; // where the next start goes; then it holds the oldest one
    while (edit_reader_next(&r, &u)) {
        p->starts[slot] = u.first ? u.start : NOWHERE;
        slot = slot + 1 == p->len ? 0 : slot + 1;
        while (state > 0 && (state == p->len || p->codes[state] != u.code)) {
            state = p->fail[state];
        }
        state += p->codes[state] == u.code;
        if (state < p->len) {
            continue;
        }
        size_t start = p->starts[slot];
        size_t end = u.end;
        if (start == NOWHERE || !u.last || !match_lead(p, text, &start) ||
            !match_tail(p, text, &end)) {
            continue;
        }
        if (out->count == 0) {
            out->start = start;
            out->end = end;
        }
        if (out->count < EDIT_MATCH_SHOWN) {
            out->starts[out->count] = start;
        }
        out->count++;
    }
}

// The first byte beyond ASCII at or after `from`.
static size_t next_high(struct sv text, size_t from)
{
    size_t at = from;
    for (; at + sizeof(uint64_t) <= text.n; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text.p + at, sizeof(word));
        if (word & 0x8080808080808080U) {
            break;
        }
    }
    while (at < text.n && (unsigned char)text.p[at] < 0x80) {
        at++;
    }
    return at < text.n ? at : NOWHERE;
}

static size_t next_anchor(const struct pattern *p, struct sv text, size_t from)
{
    const char *hit = p->anchor_len > 0
                          ? memmem(text.p + from, text.n - from, p->anchor, p->anchor_len)
                          : NULL;
    return hit ? (size_t)(hit - text.p) : NOWHERE;
}

// Where lines begin that may match the anchor's line.
struct candidates {
    const struct pattern *pattern;
    struct sv text;
    size_t anchor, high; // the next ones; NOWHERE = no more
};

static size_t candidates_next(struct candidates *c, size_t from)
{
    if (c->anchor < from) {
        c->anchor = next_anchor(c->pattern, c->text, from);
    }
    if (c->high < from) {
        c->high = next_high(c->text, from);
    }
    return c->anchor < c->high ? c->anchor : c->high;
}

static struct candidates candidates_make(const struct pattern *p, struct sv text)
{
    return (struct candidates){
        .pattern = p,
        .text = text,
        .anchor = next_anchor(p, text, 0),
        .high = p->level == EDIT_FUZZY ? next_high(text, 0) : NOWHERE,
    };
}

// The start of the line `lines` above the one of `at`, but not before floor.
static size_t lines_up(struct sv text, size_t at, size_t lines, size_t floor)
{
    for (;;) {
        const char *lf = at > floor ? memrchr(text.p + floor, '\n', at - floor) : NULL;
        if (!lf) {
            return floor;
        }
        at = (size_t)(lf - text.p);
        if (lines == 0) {
            return at + 1;
        }
        lines--;
    }
}

// The position after `lines` more line ends.
static size_t lines_down(struct sv text, size_t at, size_t lines)
{
    while (lines > 0 && at < text.n) {
        const char *lf = memchr(text.p + at, '\n', text.n - at);
        at = lf ? (size_t)(lf - text.p) + 1 : text.n;
        lines--;
    }
    return at;
}

static size_t count_line_ends(struct sv text, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

// Scans the lines around each candidate; windows that touch are one, so that no line is
// looked at twice.
static void scan_windows(struct edit_match *out, struct pattern *p, struct sv text)
{
    struct candidates c = candidates_make(p, text);
    size_t below = p->lines - p->anchor_line;
    size_t lo = 0;
    size_t hi = 0;   // = lines_down(text, seen, below)
    size_t seen = 0; // end of the last candidate's line
    for (;;) {
        size_t at = candidates_next(&c, seen);
        if (at == NOWHERE) {
            break;
        }
        size_t from = lines_up(text, at, p->anchor_line, hi);
        size_t line_end = lines_down(text, at, 1);
        if (from > hi) {
            scan(out, p, text, lo, hi);
            lo = from;
            hi = lines_down(text, line_end, below);
        } else if (hi == 0 || line_end == text.n) {
            hi = lines_down(text, line_end, below);
        } else {
            hi = lines_down(text, hi, count_line_ends(text, seen, line_end));
        }
        seen = line_end;
    }
    scan(out, p, text, lo, hi);
}

static bool only_line_ends(const struct pattern *p)
{
    return p->lines == p->len;
}

static enum pi_status find_level(struct edit_match *out, struct sv text, struct sv old,
                                 size_t from, struct pi_error *err)
{
    struct pattern p;
    enum pi_status st = pattern_init(&p, old, out->level, err);
    if (st == PI_OK && p.len > 0) {
        if (out->level == EDIT_EXACT || only_line_ends(&p)) {
            scan(out, &p, text, from, text.n);
        } else {
            scan_windows(out, &p, text);
        }
    }
    pattern_finish(&p);
    return st;
}

static enum pi_status find_exact(struct edit_match *out, struct sv text, struct sv old,
                                 struct pi_error *err)
{
    const char *first = memmem(text.p, text.n, old.p, old.n);
    if (!first) {
        return PI_OK;
    }
    size_t at = (size_t)(first - text.p);
    struct sv rest = sv_from(text, at + 1);
    if (memmem(rest.p, rest.n, old.p, old.n)) {
        return find_level(out, text, old, at, err);
    }
    out->count = 1;
    out->start = out->starts[0] = at;
    out->end = at + old.n;
    return PI_OK;
}

enum pi_status edit_match_find(struct edit_match *out, struct sv text, struct sv old,
                               struct pi_error *err)
{
    *out = (struct edit_match){.level = EDIT_EXACT};
    if (text.n == 0 || old.n == 0) {
        return PI_OK;
    }
    enum pi_status st = find_exact(out, text, old, err);
    if (st == PI_OK && out->count == 0 && memchr(old.p, '\n', old.n)) {
        out->level = EDIT_LINE_ENDS;
        st = find_level(out, text, old, 0, err);
    }
    if (st == PI_OK && out->count == 0) {
        out->level = EDIT_FUZZY;
        st = find_level(out, text, old, 0, err);
    }
    size_t at = out->start;
    if (out->count > 0 && at > 0 && text.p[at] == '\n' && text.p[at - 1] == '\r') {
        out->start--;
    }
    return st;
}

size_t edit_line_number(struct sv text, size_t at)
{
    return 1 + count_line_ends(text, 0, at < text.n ? at : text.n);
}
