#include "text/diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/myers.h"

// The part of the texts between their common start and end, as numbers: equal lines have
// equal numbers.
struct side {
    uint32_t *ids; // of each line
    size_t len;
    bool *changed;   // per line
    uint32_t *kept;  // the ids that the other side has, too
    size_t *kept_at; // the line that they came from
    size_t kept_len;
    bool *kept_changed;
};

// What a number stands for.
struct line_class {
    struct sv line;
    uint64_t hash;
    bool in[2]; // which side has it
};

struct interner {
    struct line_class *classes;
    uint32_t len;
    uint32_t *table; // 0 is empty, else 1 + class
    size_t mask;
};

static size_t count_lines(struct sv text)
{
    size_t n = 0;
    struct sv line;
    while (sv_next_line(&text, &line)) {
        n++;
    }
    return n;
}

// As sv_next_line, but with the LF.
static bool next_whole_line(struct sv *rest, struct sv *line)
{
    const char *start = rest->p;
    if (!sv_next_line(rest, line)) {
        return false;
    }
    *line = sv_make(start, (size_t)(rest->p - start));
    return true;
}

/* Common start and end */

static size_t common_start(struct sv a, struct sv b)
{
    enum { STEP = 4096 };
    size_t n = a.n < b.n ? a.n : b.n;
    size_t i = 0;
    while (n - i >= STEP && memcmp(a.p + i, b.p + i, STEP) == 0) {
        i += STEP;
    }
    while (i < n && a.p[i] == b.p[i]) {
        i++;
    }
    if (i == a.n && i == b.n) {
        return i;
    }
    const char *lf = i ? memrchr(a.p, '\n', i) : NULL;
    return lf ? (size_t)(lf - a.p) + 1 : 0;
}

// The length of the common end that consists of whole lines on both sides.
static size_t common_end(struct sv a, struct sv b)
{
    enum { STEP = 4096 };
    size_t n = a.n < b.n ? a.n : b.n;
    size_t i = 0;
    while (n - i >= STEP &&
           memcmp(a.p + a.n - i - STEP, b.p + b.n - i - STEP, STEP) == 0) {
        i += STEP;
    }
    while (i < n && a.p[a.n - i - 1] == b.p[b.n - i - 1]) {
        i++;
    }
    bool starts_lines =
        (i == a.n || a.p[a.n - i - 1] == '\n') && (i == b.n || b.p[b.n - i - 1] == '\n');
    if (i == 0 || starts_lines) {
        return i;
    }
    const char *lf = memchr(a.p + a.n - i, '\n', i);
    return lf ? (size_t)(a.p + a.n - lf) - 1 : 0;
}

/* Numbers for lines */

static uint64_t hash_of(struct sv s)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t h = s.n;
    size_t i = 0;
    for (; s.n - i >= 8; i += 8) {
        uint64_t w;
        memcpy(&w, s.p + i, sizeof w);
        h = (h ^ w) * factor;
        h ^= h >> 32;
    }
    for (; i < s.n; i++) {
        h = (h ^ (unsigned char)s.p[i]) * factor;
        h ^= h >> 32;
    }
    return h;
}

static bool interner_init(struct interner *in, size_t lines)
{
    size_t cap = 16;
    while (cap < 2 * lines) {
        cap *= 2;
    }
    in->mask = cap - 1;
    in->table = calloc(cap, sizeof *in->table);
    in->classes = calloc(lines + 1, sizeof *in->classes);
    return in->table && in->classes;
}

static void interner_finish(struct interner *in)
{
    free(in->table);
    free(in->classes);
}

static uint32_t intern(struct interner *in, struct sv line)
{
    uint64_t hash = hash_of(line);
    size_t at = (size_t)hash & in->mask;
    while (in->table[at]) {
        const struct line_class *c = &in->classes[in->table[at] - 1];
        if (c->hash == hash && sv_eq(c->line, line)) {
            return in->table[at] - 1;
        }
        at = (at + 1) & in->mask;
    }
    in->classes[in->len] = (struct line_class){.line = line, .hash = hash};
    in->table[at] = ++in->len;
    return in->len - 1;
}

static bool side_init(struct side *s, size_t lines)
{
    size_t n = lines + 1; // so that no size is 0
    s->ids = calloc(n, sizeof *s->ids);
    s->changed = calloc(n, sizeof *s->changed);
    s->kept = calloc(n, sizeof *s->kept);
    s->kept_at = calloc(n, sizeof *s->kept_at);
    s->kept_changed = calloc(n, sizeof *s->kept_changed);
    return s->ids && s->changed && s->kept && s->kept_at && s->kept_changed;
}

static void side_finish(struct side *s)
{
    free(s->ids);
    free(s->changed);
    free(s->kept);
    free(s->kept_at);
    free(s->kept_changed);
}

static void side_fill(struct side *s, struct interner *in, struct sv text, int which)
{
    struct sv line;
    while (next_whole_line(&text, &line)) {
        uint32_t id = intern(in, line);
        in->classes[id].in[which] = true;
        s->ids[s->len++] = id;
    }
}

// Lines that the other side does not have are changed for certain: the search is spared
// them, and a rewritten file costs nothing.
static void side_keep_shared(struct side *s, const struct interner *in)
{
    for (size_t i = 0; i < s->len; i++) {
        const struct line_class *c = &in->classes[s->ids[i]];
        s->changed[i] = !(c->in[0] && c->in[1]);
        if (!s->changed[i]) {
            s->kept[s->kept_len] = s->ids[i];
            s->kept_at[s->kept_len++] = i;
        }
    }
}

static void side_take_result(struct side *s)
{
    for (size_t i = 0; i < s->kept_len; i++) {
        s->changed[s->kept_at[i]] = s->kept_changed[i];
    }
}

/* Hunks */

static bool add_hunk(struct diff *d, struct diff_hunk h)
{
    struct diff_hunk *hunks = vec_grow(d->hunks, &d->cap, d->len + 1, sizeof *hunks);
    if (!hunks) {
        return false;
    }
    d->hunks = hunks;
    d->hunks[d->len++] = h;
    return true;
}

static size_t changed_run(const struct side *s, size_t from)
{
    size_t n = 0;
    while (from + n < s->len && s->changed[from + n]) {
        n++;
    }
    return n;
}

// Hunks are counted from 0 within the middle part until finish_hunks.
static bool collect_hunks(struct diff *d, const struct side *a, const struct side *b)
{
    size_t i = 0, j = 0;
    while (i < a->len || j < b->len) {
        struct diff_hunk h = {.old_start = i, .new_start = j};
        h.old_len = changed_run(a, i);
        h.new_len = changed_run(b, j);
        if ((h.old_len || h.new_len) && !add_hunk(d, h)) {
            return false;
        }
        i += h.old_len + 1;
        j += h.new_len + 1;
    }
    return true;
}

// A pure insertion or removal can often stand at several places. It is moved down as far
// as it goes, where it mostly ends a block instead of beginning in one; when it meets the
// next hunk the two become one.
static void slide_down(const struct side *s, size_t start, size_t len, size_t room,
                       size_t *moved)
{
    *moved = 0;
    while (*moved < room && s->ids[start + *moved] == s->ids[start + len + *moved]) {
        ++*moved;
    }
}

static void slide_hunks(struct diff *d, const struct side *a, const struct side *b)
{
    size_t kept = d->len; // hunks from here on are done
    for (size_t k = d->len; k-- > 0;) {
        struct diff_hunk h = d->hunks[k];
        const struct diff_hunk *next = kept < d->len ? &d->hunks[kept] : NULL;
        size_t room = (next ? next->old_start : a->len) - h.old_start - h.old_len;
        size_t moved = 0;
        if (h.old_len == 0) {
            slide_down(b, h.new_start, h.new_len, room, &moved);
        } else if (h.new_len == 0) {
            slide_down(a, h.old_start, h.old_len, room, &moved);
        }
        h.old_start += moved;
        h.new_start += moved;
        if (next && moved == room) {
            h.old_len += next->old_len;
            h.new_len += next->new_len;
            kept++;
        }
        d->hunks[--kept] = h;
    }
    d->len -= kept;
    if (d->len) {
        memmove(d->hunks, d->hunks + kept, d->len * sizeof *d->hunks);
    }
}

static void finish_hunks(struct diff *d, size_t lines_before)
{
    for (size_t k = 0; k < d->len; k++) {
        d->hunks[k].old_start += lines_before + 1;
        d->hunks[k].new_start += lines_before + 1;
    }
}

static bool compare_middle(struct diff *d, struct sv before, struct sv after)
{
    struct interner in = {0};
    struct side a = {0}, b = {0};
    size_t a_lines = count_lines(before), b_lines = count_lines(after);
    bool ok = interner_init(&in, a_lines + b_lines) && side_init(&a, a_lines) &&
              side_init(&b, b_lines);
    if (ok) {
        side_fill(&a, &in, before, 0);
        side_fill(&b, &in, after, 1);
        side_keep_shared(&a, &in);
        side_keep_shared(&b, &in);
        struct myers m = {.a = a.kept,
                          .b = b.kept,
                          .a_len = a.kept_len,
                          .b_len = b.kept_len,
                          .a_changed = a.kept_changed,
                          .b_changed = b.kept_changed};
        ok = myers_compare(&m);
    }
    if (ok) {
        side_take_result(&a);
        side_take_result(&b);
        ok = collect_hunks(d, &a, &b);
    }
    if (ok) {
        slide_hunks(d, &a, &b);
    }
    interner_finish(&in);
    side_finish(&a);
    side_finish(&b);
    return ok;
}

enum pi_status diff_lines(struct diff *out, struct sv before, struct sv after,
                          struct pi_error *err)
{
    struct diff d = {0};
    size_t start = common_start(before, after);
    struct sv a = sv_from(before, start);
    struct sv b = sv_from(after, start);
    size_t end = common_end(a, b);
    a.n -= end;
    b.n -= end;
    if (a.n >= UINT32_MAX || b.n >= UINT32_MAX) {
        return error_set(err, PI_LIMIT, "The texts are too long to be compared");
    }
    if ((a.n || b.n) && !compare_middle(&d, a, b)) {
        diff_finish(&d);
        return error_nomem(err);
    }
    finish_hunks(&d, count_lines(sv_make(before.p, start)));
    *out = d;
    return PI_OK;
}

void diff_finish(struct diff *d)
{
    if (d) {
        free(d->hunks);
        *d = (struct diff){0};
    }
}
