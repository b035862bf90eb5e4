#include "edit_change.h"

#include <stdlib.h>

#include "base/vec.h"
#include "text/diff.h"

// ---- oldText beside the bytes it matched

// Walks oldText and its place in the text unit by unit. It stands between two units;
// `old` and `place` are the units behind that point. White space that is no unit lies
// between the end of one and the start of the next.
struct align {
    struct edit_reader old_reader, place_reader;
    struct edit_unit old, place;
    size_t old_end, place_end; // ends of the units before the point
    bool safe;                 // the point splits no character
    // The last safe point that lies before the present one.
    size_t safe_old, safe_place;
};

struct spot {
    size_t old, place;
};

static void align_read(struct align *a)
{
    if (!edit_reader_next(&a->old_reader, &a->old)) {
        size_t n = a->old_reader.text.n;
        a->old = (struct edit_unit){.start = n, .end = n, .first = true};
    }
    if (!edit_reader_next(&a->place_reader, &a->place)) {
        size_t n = a->place_reader.text.n;
        a->place = (struct edit_unit){.start = n, .end = n, .first = true};
    }
    a->safe = a->old.first && a->place.first;
}

static void align_init(struct align *a, struct sv text, const struct edit_match *match,
                       struct sv old)
{
    enum edit_level level = match->level == EDIT_FUZZY ? EDIT_FUZZY : EDIT_LINE_ENDS;
    struct sv place = sv_make(text.p, match->end);
    *a = (struct align){
        .old_reader = edit_reader_make(old, 0, old.n, level),
        .place_reader = edit_reader_make(place, match->start, match->end, level),
        .place_end = match->start,
    };
    align_read(a);
}

static void align_step(struct align *a)
{
    if (a->safe) {
        a->safe_old = a->old.start;
        a->safe_place = a->place.start;
    }
    a->old_end = a->old.end;
    a->place_end = a->place.end;
    align_read(a);
}

// The place of a point among white space that is no unit: as many characters in.
static size_t align_gap(const struct align *a, size_t old_at)
{
    size_t place = a->place_end;
    for (size_t at = a->old_end; at < old_at && place < a->place.start;) {
        at += edit_char(a->old_reader.text, at);
        place += edit_char(a->place_reader.text, place);
    }
    return place;
}

// Where a change that begins at old_at begins: there, or before when the place has one
// character where oldText has several.
static struct spot align_from(struct align *a, size_t old_at)
{
    while (a->old.start < old_at) {
        align_step(a);
    }
    if (a->safe) {
        return (struct spot){old_at, align_gap(a, old_at)};
    }
    return (struct spot){a->safe_old, a->safe_place};
}

// Where a change that ends at old_at ends: there or behind.
static struct spot align_to(struct align *a, size_t old_at)
{
    while (a->old.start < old_at) {
        align_step(a);
    }
    while (!a->safe) {
        align_step(a);
    }
    if (a->old_end > old_at) {
        return (struct spot){a->old_end, a->place_end};
    }
    if (old_at == a->old.start && a->old_end < old_at) {
        return (struct spot){old_at, a->place.start};
    }
    return (struct spot){old_at, align_gap(a, old_at)};
}

// ---- line ends of new text

// Length of the line end that belongs to the surroundings of [from, to); 0 = the text has
// none.
static size_t nearby_line_end(struct sv text, size_t from, size_t to)
{
    const char *lf = memchr(text.p + to, '\n', text.n - to);
    if (!lf && from > 0) {
        lf = memrchr(text.p, '\n', from);
    }
    if (!lf) {
        return 0;
    }
    return lf > text.p && lf[-1] == '\r' ? 2 : 1;
}

// The next line end of text in [*at, to), 0 when there is none; moves *at behind it.
static size_t next_line_end(struct sv text, size_t *at, size_t to)
{
    const char *lf = memchr(text.p + *at, '\n', to - *at);
    if (!lf) {
        return 0;
    }
    size_t i = (size_t)(lf - text.p);
    size_t n = i > *at && text.p[i - 1] == '\r' ? 2 : 1;
    *at = i + 1;
    return n;
}

// Appends new text for [from, to): its first line end takes the style of the first one
// there, and so on.
static void add_text(struct buf *out, struct sv text, size_t from, size_t to,
                     struct sv new_text)
{
    size_t at = from;
    size_t style = 0;
    for (size_t i = 0; i < new_text.n;) {
        size_t n = edit_line_end(new_text, i);
        if (n == 0) {
            buf_addc(out, new_text.p[i++]);
            continue;
        }
        size_t next = next_line_end(text, &at, to);
        style = next ? next : style ? style : nearby_line_end(text, from, to);
        size_t len = style ? style : n;
        buf_add(out, len == 2 ? "\r\n" : "\n", len);
        i += n;
    }
}

// ---- changes

void edit_changes_finish(struct edit_changes *c)
{
    if (!c) {
        return;
    }
    free(c->items);
    buf_finish(&c->bytes);
    *c = (struct edit_changes){0};
}

// Whether a cut before byte `at` of s would split a character or a CRLF.
static bool splits(struct sv s, size_t at)
{
    if (at == 0 || at >= s.n) {
        return false;
    }
    unsigned char c = (unsigned char)s.p[at];
    return (c & 0xC0) == 0x80 || (c == '\n' && s.p[at - 1] == '\r');
}

static size_t common_prefix(struct sv a, struct sv b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    size_t k = 0;
    while (k < n && a.p[k] == b.p[k]) {
        k++;
    }
    while (k > 0 && (splits(a, k) || splits(b, k))) {
        k--;
    }
    return k;
}

static size_t common_suffix(struct sv a, struct sv b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    size_t k = 0;
    while (k < n && a.p[a.n - 1 - k] == b.p[b.n - 1 - k]) {
        k++;
    }
    while (k > 0 && (splits(a, a.n - k) || splits(b, b.n - k))) {
        k--;
    }
    return k;
}

// Adds the change of [from, to) into the bytes from text_at on, without what is equal.
static bool push(struct edit_changes *c, struct sv text, size_t from, size_t to,
                 size_t text_at)
{
    struct sv before = sv_make(text.p + from, to - from);
    struct sv after = sv_from(buf_sv(&c->bytes), text_at);
    size_t prefix = common_prefix(before, after);
    before = sv_from(before, prefix);
    after = sv_from(after, prefix);
    size_t suffix = common_suffix(before, after);
    before.n -= suffix;
    after.n -= suffix;
    if (before.n == 0 && after.n == 0) {
        return true;
    }
    struct edit_change change = {from + prefix, before.n, text_at + prefix, after.n};
    struct edit_change *last = c->len > 0 ? &c->items[c->len - 1] : NULL;
    if (last && last->offset + last->length == change.offset) {
        // Touching changes become one, so that hosts need not order them.
        if (change.text_len > 0) {
            memmove(c->bytes.data + last->text_at + last->text_len,
                    c->bytes.data + change.text_at, change.text_len);
        }
        last->length += change.length;
        last->text_len += change.text_len;
        buf_truncate(&c->bytes, last->text_at + last->text_len);
        return true;
    }
    struct edit_change *grown = vec_grow(c->items, &c->cap, c->len + 1, sizeof(*grown));
    if (!grown) {
        return false;
    }
    c->items = grown;
    c->items[c->len++] = change;
    return true;
}

struct host_change *edit_changes_list(const struct edit_changes *c)
{
    struct host_change *list = calloc(c->len ? c->len : 1, sizeof(*list));
    for (size_t i = 0; list && i < c->len; i++) {
        const struct edit_change *from = &c->items[i];
        list[i] = (struct host_change){
            .offset = from->offset,
            .length = from->length,
            .text = sv_make(buf_cstr(&c->bytes) + from->text_at, from->text_len),
        };
    }
    return list;
}

// ---- from oldText to newText

// A line of oldText or newText without its line end, which reaches up to `next`.
struct piece {
    size_t start, end, next;
};

struct pieces {
    struct piece *items;
    size_t len, cap;
};

struct edit {
    struct edit_changes *changes;
    struct sv text, old, new_text;
    struct pieces old_pieces, new_pieces;
    struct align align;
};

static bool split_pieces(struct pieces *out, struct sv s)
{
    for (size_t start = 0, at = 0; at <= s.n; at++) {
        size_t n = edit_line_end(s, at);
        if (n == 0 && at < s.n) {
            continue;
        }
        struct piece *grown =
            vec_grow(out->items, &out->cap, out->len + 1, sizeof(*grown));
        if (!grown) {
            return false;
        }
        out->items = grown;
        out->items[out->len++] = (struct piece){start, at, at + n};
        start = at + n;
        at += n ? n - 1 : 0;
    }
    return true;
}

// Replaces oldText [of.start, of.end) by newText [to.start, to.end).
static bool replace(struct edit *e, struct piece of, struct piece to)
{
    struct sv before = sv_make(e->old.p + of.start, of.end - of.start);
    struct sv after = sv_make(e->new_text.p + to.start, to.end - to.start);
    size_t prefix = common_prefix(before, after);
    size_t suffix = common_suffix(sv_from(before, prefix), sv_from(after, prefix));
    size_t from = of.start + prefix;
    size_t until = of.end - suffix;
    if (from == until && prefix + suffix == after.n) {
        return true;
    }
    struct spot first = align_from(&e->align, from);
    struct spot last = first;
    if (from < until || first.old < from) {
        last = align_to(&e->align, until);
    }
    size_t new_from = to.start + prefix - (from - first.old);
    size_t new_until = to.end - suffix + (last.old > until ? last.old - until : 0);
    struct edit_changes *c = e->changes;
    size_t text_at = c->bytes.len;
    add_text(&c->bytes, e->text, first.place, last.place,
             sv_make(e->new_text.p + new_from, new_until - new_from));
    return buf_ok(&c->bytes) && push(c, e->text, first.place, last.place, text_at);
}

// Lines n of old become m of new; both 1-based as in a hunk, either may be none.
static bool replace_lines(struct edit *e, const struct diff_hunk *h)
{
    const struct piece *old = e->old_pieces.items + h->old_start - 1;
    const struct piece *new = e->new_pieces.items + h->new_start - 1;
    size_t n = h->old_len;
    size_t m = h->new_len;
    if (n == m) {
        for (size_t i = 0; i < n; i++) {
            if (!replace(e, old[i], new[i])) {
                return false;
            }
        }
        return true;
    }
    if (n > 0 && m > 0) {
        return replace(e, (struct piece){old[0].start, old[n - 1].end, 0},
                       (struct piece){new[0].start, new[m - 1].end, 0});
    }
    // Whole lines go or come; at the end of oldText the line end before them goes along.
    bool at_end = h->old_start - 1 + n == e->old_pieces.len;
    size_t back = at_end ? 1 : 0;
    struct piece of = {e->old.n, e->old.n, 0};
    if (n > 0) {
        of.start = at_end ? old[-1].end : old[0].start;
        of.end = at_end ? old[n - 1].end : old[n - 1].next;
    } else if (!at_end) {
        of.start = of.end = old[0].start;
    }
    struct piece to = {e->new_text.n, e->new_text.n, 0};
    if (m > 0) {
        to.start = back ? new[-1].end : new[0].start;
        to.end = back ? new[m - 1].end : new[m - 1].next;
    }
    return replace(e, of, to);
}

static void add_lines(struct buf *out, struct sv s, const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->len; i++) {
        const struct piece *p = &pieces->items[i];
        buf_add(out, s.p + p->start, p->end - p->start);
        buf_addc(out, '\n');
    }
}

static enum pi_status compare(struct diff *diff, const struct edit *e,
                              struct pi_error *err)
{
    struct buf before = {0};
    struct buf after = {0};
    add_lines(&before, e->old, &e->old_pieces);
    add_lines(&after, e->new_text, &e->new_pieces);
    enum pi_status st = buf_ok(&before) && buf_ok(&after)
                            ? diff_lines(diff, buf_sv(&before), buf_sv(&after), err)
                            : error_nomem(err);
    buf_finish(&before);
    buf_finish(&after);
    return st;
}

enum pi_status edit_changes_add(struct edit_changes *c, struct sv text,
                                const struct edit_match *match, struct sv old,
                                struct sv new_text, struct pi_error *err)
{
    struct edit e = {.changes = c, .text = text, .old = old};
    e.new_text = new_text.p ? new_text : sv_of("");
    struct diff diff = {0};
    align_init(&e.align, text, match, old);
    enum pi_status st = PI_OK;
    if (!split_pieces(&e.old_pieces, old) || !split_pieces(&e.new_pieces, new_text)) {
        st = error_nomem(err);
        goto out;
    }
    st = compare(&diff, &e, err);
    for (size_t i = 0; st == PI_OK && i < diff.len; i++) {
        if (!replace_lines(&e, &diff.hunks[i])) {
            st = error_nomem(err);
        }
    }
out:
    diff_finish(&diff);
    free(e.old_pieces.items);
    free(e.new_pieces.items);
    return st;
}
