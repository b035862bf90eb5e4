#include "grep_text.h"

#include <string.h>

#include "text/truncate.h"
#include "text/utf8.h"

// Of a longer line a part around the match is shown.
enum { LINE_BYTES = 500, BEFORE_MATCH = 150 };

#define CUT_MARK "\xe2\x80\xa6"

// One text while it is searched. Offsets are bytes of text, line numbers count from 1.
struct scan {
    struct grep *g;
    struct sv name;
    struct sv text;
    size_t counted, counted_line; // a line start and its number
    size_t shown_end;             // where the rows of this text end
    size_t after;                 // lines still to show behind the last match
    bool any;
};

/* ------------------------------------------------------------------------- pattern -- */

// Whether a match of one line is also found, at the same place, in the whole text. What
// looks around, or does not try again, may see a neighbouring line and give up.
static bool works_across(struct sv p)
{
    for (size_t i = 0; i + 1 < p.n; i++) {
        char c = p.p[i];
        char next = p.p[i + 1];
        bool group = c == '(' && (next == '?' || next == '*');
        bool possessive = next == '+' && memchr("*+?}", c, 4);
        if (possessive || (group && !(next == '?' && i + 2 < p.n && p.p[i + 2] == ':'))) {
            return false;
        }
        if (c == '\\') {
            if (memchr("AzZGKRXQE", next, 9)) {
                return false;
            }
            i++;
        }
    }
    return true;
}

enum pi_status grep_init(struct grep *g, struct sv pattern, unsigned flags,
                         struct pi_error *err)
{
    bool literal = flags & REGEX_LITERAL;
    if (pattern.n == 0) {
        return error_set(err, PI_INVALID, "pattern: empty; give the text to look for");
    }
    if (memchr(pattern.p, '\n', pattern.n)) {
        return error_set(err, PI_INVALID,
                         "pattern: it has a line break, but the search is line by line; "
                         "look for one of its lines and use context for the others");
    }
    enum pi_status st = regex_create(&g->regex, pattern, flags, err);
    if (st == PI_OK) {
        st = regex_matcher_create(&g->matcher, g->regex, err);
    }
    g->across = literal || works_across(pattern);
    g->line_end = !literal && memchr(pattern.p, '$', pattern.n);
    return st;
}

enum pi_status grep_share(struct grep *out, const struct grep *from, struct pi_error *err)
{
    *out = (struct grep){
        .across = from->across,
        .line_end = from->line_end,
        .context = from->context,
        .limit = from->limit,
        .cancel = from->cancel,
    };
    return regex_matcher_create(&out->matcher, from->regex, err);
}

void grep_finish(struct grep *g)
{
    regex_matcher_destroy(g->matcher);
    regex_destroy(g->regex);
    rows_finish(&g->rows);
    buf_finish(&g->complex_at);
}

/* ----------------------------------------------------------------------- results -- */

void grep_take(struct grep *out, struct grep *from)
{
    *out = (struct grep){
        .rows = from->rows,
        .matches = from->matches,
        .more = from->more,
        .cut_lines = from->cut_lines,
        .complex = from->complex,
        .complex_at = from->complex_at,
    };
    from->rows = (struct rows){0};
    from->matches = from->cut_lines = from->complex = 0;
    from->more = false;
    from->complex_at = (struct buf){0};
}

void grep_append(struct grep *g, struct grep *found)
{
    if (g->context > 0 && g->rows.text.len > 0 && found->rows.text.len > 0) {
        buf_adds(&g->rows.text, "--\n");
    }
    buf_addsv(&g->rows.text, buf_sv(&found->rows.text));
    g->rows.text.failed = g->rows.text.failed || !buf_ok(&found->rows.text);
    g->rows.escaped = g->rows.escaped || found->rows.escaped;
    g->matches += found->matches;
    g->cut_lines += found->cut_lines;
    if (g->complex == 0) {
        buf_addsv(&g->complex_at, buf_sv(&found->complex_at));
    }
    g->complex += found->complex;
    grep_finish(found);
    *found = (struct grep){0};
}

/* ---------------------------------------------------------------------------- rows -- */

static size_t line_end(const struct scan *s, size_t at)
{
    const char *lf = memchr(s->text.p + at, '\n', s->text.n - at);
    return lf ? (size_t)(lf - s->text.p) : s->text.n;
}

static size_t line_start(const struct scan *s, size_t at)
{
    const char *lf = at > 0 ? memrchr(s->text.p, '\n', at) : NULL;
    return lf ? (size_t)(lf - s->text.p) + 1 : 0;
}

static struct sv line_at(const struct scan *s, size_t start)
{
    struct sv line = sv_sub(s->text, start, line_end(s, start) - start);
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    return line;
}

static size_t number_of(struct scan *s, size_t start)
{
    if (start < s->counted) {
        s->counted = 0;
        s->counted_line = 1;
    }
    const char *p = s->text.p + s->counted;
    const char *end = s->text.p + start;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        s->counted_line++;
        p++;
    }
    s->counted = start;
    return s->counted_line;
}

// Control characters would move the rows on a terminal or end a string.
static void add_shown(struct buf *out, struct sv line)
{
    size_t from = out->len;
    utf8_repair(out, line);
    for (size_t i = from; i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            out->data[i] = '?';
        }
    }
}

static void add_line(struct grep *g, struct sv line, const struct regex_match *match)
{
    struct buf *out = &g->rows.text;
    if (line.n <= LINE_BYTES) {
        add_shown(out, line);
        return;
    }
    size_t from = match && match->start > BEFORE_MATCH ? match->start - BEFORE_MATCH : 0;
    from = from > line.n - LINE_BYTES ? line.n - LINE_BYTES : from;
    size_t start = utf8_ceil(line, from);
    size_t end = utf8_floor(line, from + LINE_BYTES);
    buf_adds(out, start > 0 ? CUT_MARK : "");
    add_shown(out, sv_sub(line, start, end - start));
    buf_adds(out, end < line.n ? CUT_MARK : "");
    g->cut_lines++;
}

static void add_row(struct scan *s, size_t start, const struct regex_match *match)
{
    struct grep *g = s->g;
    size_t number = number_of(s, start);
    char mark = match ? ':' : '-';
    rows_add_name(&g->rows, s->name);
    buf_addf(&g->rows.text, "%c%zu%c ", mark, number, mark);
    add_line(g, line_at(s, start), match);
    buf_addc(&g->rows.text, '\n');
    size_t end = line_end(s, start);
    s->shown_end = end < s->text.n ? end + 1 : end;
}

// The lines behind the last match, up to byte `until`.
static void add_after(struct scan *s, size_t until)
{
    while (s->after > 0 && s->shown_end < until) {
        s->after--;
        add_row(s, s->shown_end, NULL);
    }
}

static void add_before(struct scan *s, size_t start)
{
    size_t first = start;
    for (size_t i = 0; i < s->g->context && first > s->shown_end; i++) {
        first = line_start(s, first - 1);
    }
    bool gap = first > s->shown_end || !s->any;
    if (s->g->context > 0 && gap && s->g->rows.text.len > 0) {
        buf_adds(&s->g->rows.text, "--\n");
    }
    while (first < start) {
        add_row(s, first, NULL);
        first = s->shown_end;
    }
}

// False when no more is to be shown.
static bool add_match(struct scan *s, size_t start, const struct regex_match *match)
{
    struct grep *g = s->g;
    add_after(s, start);
    if (g->matches == g->limit || g->rows.text.len > TRUNCATE_MAX_BYTES) {
        g->more = true;
        return false;
    }
    add_before(s, start);
    g->matches++;
    add_row(s, start, match);
    s->any = true;
    s->after = g->context;
    return buf_ok(&g->rows.text);
}

/* -------------------------------------------------------------------------- search -- */

static void note_complex(struct scan *s, size_t start)
{
    struct grep *g = s->g;
    if (g->complex++ == 0) {
        size_t rows = g->rows.text.len;
        rows_add_name(&g->rows, s->name);
        buf_addsv(&g->complex_at, sv_from(buf_sv(&g->rows.text), rows));
        buf_truncate(&g->rows.text, rows);
        buf_addf(&g->complex_at, ":%zu", number_of(s, start));
    }
}

// A line is searched without its CR, so that "$" means its end, and then with it.
static enum pi_status search_line(struct scan *s, size_t start, struct regex_match *match,
                                  struct pi_error *err)
{
    struct sv line = sv_sub(s->text, start, line_end(s, start) - start);
    bool cr = line.n > 0 && line.p[line.n - 1] == '\r';
    enum pi_status st =
        regex_search(s->g->matcher, sv_sub(line, 0, line.n - cr), 0, match, err);
    if (cr && st == PI_NOT_FOUND) {
        st = regex_search(s->g->matcher, line, 0, match, err);
    }
    return st;
}

// Moves *at to the next line that may match; false when there is none.
static bool skip_lines(struct scan *s, bool *across, size_t *at)
{
    struct regex_match match;
    if (!*across) {
        return true;
    }
    enum pi_status st = regex_search(s->g->matcher, s->text, *at, &match, NULL);
    if (st == PI_NOT_FOUND) {
        return false;
    }
    if (st != PI_OK) {
        *across = false; // too much for the whole, perhaps not for a line
    } else if (match.start > *at) {
        *at = line_start(s, match.start);
    }
    return *at < s->text.n;
}

static enum pi_status scan_text(struct scan *s, struct pi_error *err)
{
    struct grep *g = s->g;
    bool across = g->across && !(g->line_end && memchr(s->text.p, '\r', s->text.n));
    size_t at = 0;
    size_t lines = 0;
    enum pi_status st = PI_OK;
    while (st == PI_OK && at < s->text.n && skip_lines(s, &across, &at)) {
        struct regex_match match;
        enum pi_status found = search_line(s, at, &match, err);
        if (found == PI_OK && !add_match(s, at, &match)) {
            break;
        }
        if (found == PI_LIMIT) {
            note_complex(s, at);
        }
        if (found == PI_NOMEM || g->complex >= GREP_COMPLEX_MAX) {
            return found == PI_NOMEM ? found : PI_OK;
        }
        at = line_end(s, at) + 1;
        st = ++lines % 1024 == 0 ? cancel_check(g->cancel, err) : PI_OK;
    }
    add_after(s, s->text.n);
    return st;
}

enum pi_status grep_text(struct grep *g, struct sv name, struct sv text,
                         struct pi_error *err)
{
    if (sv_starts(text, sv_of("\xEF\xBB\xBF"))) {
        text = sv_from(text, 3);
    }
    if (text.n == 0) {
        return PI_OK;
    }
    struct scan s = {.g = g, .name = name, .text = text, .counted_line = 1};
    return scan_text(&s, err);
}
