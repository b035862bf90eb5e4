#include "edit_plan.h"

#include <stdlib.h>

#include "edit_miss.h"
#include "edit_numbers.h"

// One edit and its place.
struct item {
    size_t index;
    struct sv old, new_text;
    struct buf old_memory, new_memory; // when line numbers were dropped
    struct edit_match match;
};

struct planning {
    struct edit_plan *plan;
    struct sv text;
    const char *shown;
    struct item *items;
    size_t len;
};

static void name(struct buf *out, const struct planning *p, size_t index)
{
    if (p->len > 1) {
        buf_addf(out, "edits[%zu].", index);
    }
    buf_adds(out, "oldText");
}

static void add_lines(struct buf *out, const struct planning *p,
                      const struct edit_match *m)
{
    size_t shown = m->count < EDIT_MATCH_SHOWN ? m->count : EDIT_MATCH_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        buf_addf(out, "%s%zu", i > 0 ? ", " : "",
                 edit_line_number(p->text, m->starts[i]));
    }
    buf_adds(out, shown < m->count ? ", ..." : "");
}

static enum pi_status say_ambiguous(struct planning *p, const struct item *item)
{
    struct buf *out = &p->plan->problem;
    const struct edit_match *m = &item->match;
    buf_addf(out, "Found %zu places%s for ", m->count,
             m->level == EDIT_FUZZY ? " that match approximately (none exactly)" : "");
    name(out, p, item->index);
    buf_addf(out, " in %s, at lines ", p->shown);
    add_lines(out, p, m);
    buf_adds(out, ". It must be unique: add lines before or after it to oldText and "
                  "newText. Nothing was changed.");
    return PI_INVALID;
}

// "\\n" and the like as two characters come from texts that were escaped twice.
static bool escaped_twice(const struct planning *p, struct sv old)
{
    static const char from[] = "nrt\"'\\";
    static const char to[] = "\n\r\t\"'\\";
    struct buf plain = {0};
    struct edit_match match = {0};
    for (size_t i = 0; i < old.n; i++) {
        bool escape = old.p[i] == '\\' && i + 1 < old.n;
        const char *sign = escape ? memchr(from, old.p[i + 1], sizeof(from) - 1) : NULL;
        buf_addc(&plain, sign ? to[sign - from] : old.p[i]);
        i += sign != NULL;
    }
    bool found = plain.len < old.n && buf_ok(&plain) &&
                 edit_match_find(&match, p->text, buf_sv(&plain), NULL) == PI_OK &&
                 match.count > 0;
    buf_finish(&plain);
    return found;
}

static enum pi_status say_missing(struct planning *p, const struct item *item)
{
    struct buf *out = &p->plan->problem;
    buf_adds(out, "Could not find ");
    name(out, p, item->index);
    buf_addf(out, " in %s.", p->shown);
    struct edit_numbers numbers = edit_numbers_look(item->old);
    if (numbers.counting) {
        buf_adds(out,
                 " It seems to be copied with line numbers; they are not part of the "
                 "file, leave them out.");
    }
    if (escaped_twice(p, item->old)) {
        buf_adds(out, " It is there with real line breaks, tabs or quotes: the text was "
                      "escaped twice. Nothing was changed.");
        return PI_INVALID;
    }
    edit_miss_explain(out, p->text, item->old);
    if (p->text.n > 0) {
        buf_adds(out, sv_ends(buf_sv(out), sv_of("\n")) ? "" : " ");
        buf_adds(out, "Nothing was changed. oldText must be text of the file as it is "
                      "now; read it again if in doubt.");
    }
    return PI_INVALID;
}

static enum pi_status say_empty(struct planning *p, const struct item *item)
{
    struct buf *out = &p->plan->problem;
    name(out, p, item->index);
    buf_addf(out, " is empty. %s",
             p->text.n == 0 ? "The file is empty, too; use write to give it content."
                            : "To insert text, give the line beside it as oldText and "
                              "repeat it in newText. Nothing was changed.");
    return PI_INVALID;
}

static enum pi_status say_mixed_numbers(struct planning *p, const struct item *item)
{
    struct buf *out = &p->plan->problem;
    name(out, p, item->index);
    buf_addf(
        out,
        " is only found in %s without its line numbers, but not all lines of newText "
        "have them. Send both texts without line numbers. Nothing was changed.",
        p->shown);
    return PI_INVALID;
}

// Listings show whole lines. "12:" might be something else unless it is the line's
// number.
static bool fits_listing(struct sv text, const struct edit_match *m,
                         const struct edit_numbers *numbers)
{
    return m->count > 0 && (m->start == 0 || text.p[m->start - 1] == '\n') &&
           (!numbers->colon || numbers->first == edit_line_number(text, m->start));
}

// Tries oldText without the line numbers in front of its lines, first with what follows
// the separator as it is, then without one blank.
static enum pi_status find_without_numbers(struct planning *p, struct item *item,
                                           struct pi_error *err)
{
    struct edit_numbers of_old = edit_numbers_look(item->old);
    if (!of_old.counting) {
        return PI_OK;
    }
    struct edit_match match = {0};
    bool blank = false;
    for (int try = 0;
         try < (of_old.spaced ? 2 : 1) && !fits_listing(p->text, &match, &of_old);
         try++) {
        blank = try == 1;
        buf_clear(&item->old_memory);
        edit_numbers_drop(&item->old_memory, item->old, blank);
        if (!buf_ok(&item->old_memory)) {
            return error_nomem(err);
        }
        enum pi_status st =
            edit_match_find(&match, p->text, buf_sv(&item->old_memory), err);
        if (st != PI_OK) {
            return st;
        }
    }
    if (!fits_listing(p->text, &match, &of_old)) {
        return PI_OK;
    }
    struct edit_numbers of_new = edit_numbers_look(item->new_text);
    if (of_new.numbered > 0 && of_new.numbered < of_new.lines) {
        return say_mixed_numbers(p, item);
    }
    if (of_new.numbered > 0) {
        edit_numbers_drop(&item->new_memory, item->new_text, blank);
        item->new_text = buf_sv(&item->new_memory);
    }
    item->old = buf_sv(&item->old_memory);
    item->match = match;
    buf_adds(&p->plan->notes, "\n[");
    name(&p->plan->notes, p, item->index);
    buf_adds(&p->plan->notes,
             " was found without its line numbers, which are not part of "
             "the file.]");
    return buf_ok(&item->new_memory) ? PI_OK : error_nomem(err);
}

static enum pi_status find(struct planning *p, struct item *item, struct pi_error *err)
{
    if (item->old.n == 0) {
        return say_empty(p, item);
    }
    enum pi_status st = edit_match_find(&item->match, p->text, item->old, err);
    if (st == PI_OK && item->match.count == 0) {
        st = find_without_numbers(p, item, err);
    }
    if (st != PI_OK) {
        return st;
    }
    if (item->match.count == 0) {
        return say_missing(p, item);
    }
    if (item->match.count > 1) {
        return say_ambiguous(p, item);
    }
    if (item->match.level == EDIT_FUZZY) {
        struct buf *notes = &p->plan->notes;
        buf_adds(notes, "\n[");
        name(notes, p, item->index);
        buf_adds(notes, " matched approximately: ");
        edit_miss_approximate(notes, p->text, &item->match, item->old);
        buf_adds(notes, ". What newText did not change was kept as it is in the file.]");
    }
    return PI_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    if (x->match.start != y->match.start) {
        return x->match.start < y->match.start ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum pi_status check_overlap(struct planning *p)
{
    for (size_t i = 1; i < p->len; i++) {
        const struct item *a = &p->items[i - 1];
        const struct item *b = &p->items[i];
        if (a->match.end <= b->match.start) {
            continue;
        }
        bool swap = a->index > b->index;
        const struct item *first = swap ? b : a;
        const struct item *second = swap ? a : b;
        buf_addf(&p->plan->problem,
                 "edits[%zu] (line %zu) and edits[%zu] (line %zu) overlap in %s. Merge "
                 "them into one edit. All edits of a call refer to the text before the "
                 "call. Nothing was changed.",
                 first->index, edit_line_number(p->text, first->match.start),
                 second->index, edit_line_number(p->text, second->match.start), p->shown);
        return PI_INVALID;
    }
    return PI_OK;
}

static enum pi_status add_changes(struct planning *p, struct pi_error *err)
{
    struct edit_changes *changes = &p->plan->changes;
    for (size_t i = 0; i < p->len; i++) {
        const struct item *item = &p->items[i];
        enum pi_status st = edit_changes_add(changes, p->text, &item->match, item->old,
                                             item->new_text, err);
        if (st != PI_OK) {
            return st;
        }
    }
    if (changes->len > 0) {
        return PI_OK;
    }
    buf_addf(
        &p->plan->problem,
        "No change: %s has newText in place of oldText already, or both are the same. "
        "(edit keeps the line endings of the file.)",
        p->shown);
    return PI_INVALID;
}

static enum pi_status make(struct planning *p, const struct cancel *cancel,
                           struct pi_error *err)
{
    for (size_t i = 0; i < p->len; i++) {
        enum pi_status st = cancel_check(cancel, err);
        if (st == PI_OK) {
            st = find(p, &p->items[i], err);
        }
        if (st != PI_OK) {
            return st;
        }
    }
    qsort(p->items, p->len, sizeof(*p->items), by_place);
    enum pi_status st = check_overlap(p);
    return st == PI_OK ? add_changes(p, err) : st;
}

enum pi_status edit_plan_make(struct edit_plan *out, struct sv text, const char *shown,
                              const struct edit_request *edits, size_t len,
                              const struct cancel *cancel, struct pi_error *err)
{
    struct planning p = {.plan = out, .text = text, .shown = shown, .len = len};
    p.items = calloc(len ? len : 1, sizeof(*p.items));
    if (!p.items) {
        return error_nomem(err);
    }
    for (size_t i = 0; i < len; i++) {
        p.items[i].index = i;
        p.items[i].old = edits[i].old_text;
        p.items[i].new_text = edits[i].new_text;
    }
    enum pi_status st = make(&p, cancel, err);
    for (size_t i = 0; i < len; i++) {
        buf_finish(&p.items[i].old_memory);
        buf_finish(&p.items[i].new_memory);
    }
    free(p.items);
    if (!buf_ok(&out->notes) || !buf_ok(&out->problem)) {
        return error_nomem(err);
    }
    return st;
}

void edit_plan_finish(struct edit_plan *p)
{
    if (!p) {
        return;
    }
    edit_changes_finish(&p->changes);
    buf_finish(&p->notes);
    buf_finish(&p->problem);
}
