#include "syntax/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/faults.h"
#include "syntax/language.h"
#include "text/diff.h"
#include "text/utf8.h"

enum {
    SHOWN_MAX = 3,         // errors that are told
    SHOWN_LINE_BYTES = 160 // of a line
};

struct checking {
    const struct check_request *request;
    const char *language;
    const TSLanguage *grammar;
    struct faults before, after;
};

static bool holds(struct sv text, const char *part)
{
    return text.n > 0 && memmem(text.p, text.n, part, strlen(part));
}

// A file of this language may be made by a template, whose marks are none of its own.
static bool is_template(const char *language, struct sv text)
{
    static const char *const languages[] = {"html", "yaml", "json", "toml", "css"};
    static const char *const marks[] = {"{{", "{%", "<%"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        if (strcmp(language, languages[i]) != 0) {
            continue;
        }
        for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
            if (holds(text, marks[m])) {
                return true;
            }
        }
    }
    return false;
}

// Any text is Markdown; the grammar of bash refuses too much that bash takes; a part of a
// page may well close what another one opens.
static bool is_unchecked(const char *language, struct sv text)
{
    if (strcmp(language, "html") == 0) {
        return !holds(text, "<html") || !holds(text, "</html");
    }
    return strcmp(language, "markdown") == 0 || strcmp(language, "bash") == 0;
}

static bool find_language(struct checking *c)
{
    const struct check_request *r = c->request;
    c->language = language_of(r->path, r->after);
    if (!c->language || is_unchecked(c->language, r->after) ||
        r->after.n > PARSE_MAX_BYTES || r->before.n > PARSE_MAX_BYTES ||
        is_template(c->language, r->after)) {
        return false;
    }
    c->grammar = grammars_get(r->grammars, c->language);
    return c->grammar != NULL;
}

static bool find_faults(struct faults *out, const struct checking *c, struct sv text)
{
    TSTree *tree = NULL;
    if (parse_text(&tree, c->grammar, text, c->request->cancel, NULL) != PI_OK) {
        return false;
    }
    faults_find(out, ts_tree_root_node(tree), text, c->language);
    ts_tree_delete(tree);
    return !out->failed;
}

// The lines of the old text that a line of the new one stands for: [*from, *to). True
// when it was changed.
static bool old_rows(const struct diff *d, uint32_t row, size_t *from, size_t *to)
{
    size_t shift_old = 0, shift_new = 0; // what lies before
    for (size_t i = 0; i < d->len; i++) {
        const struct diff_hunk *h = &d->hunks[i];
        if (row + 1 < h->new_start) {
            break;
        }
        if (row + 1 < h->new_start + h->new_len) {
            *from = h->old_start - 1;
            *to = *from + h->old_len;
            return true;
        }
        shift_old += h->old_len;
        shift_new += h->new_len;
    }
    *from = row + shift_old - shift_new;
    *to = *from + 1;
    return false;
}

static bool is_bracket(const struct fault *f)
{
    return f->kind == FAULT_UNCLOSED || f->kind == FAULT_UNOPENED;
}

static bool same_line(const struct checking *c, const struct fault *old,
                      const struct fault *new)
{
    return sv_eq(faults_line(c->request->before, old->offset),
                 faults_line(c->request->after, new->offset));
}

// Takes the old fault that this one is: at the same place, or in a line with the same
// text. A removed one has row UINT32_MAX.
static bool take_old(struct checking *c, const struct diff *d, const struct fault *new)
{
    size_t from, to;
    old_rows(d, new->row, &from, &to);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < c->before.len; i++) {
            struct fault *old = &c->before.items[i];
            bool near = old->row >= from && old->row < to;
            bool fits = round == 0 ? near : same_line(c, old, new);
            if (old->row != UINT32_MAX && is_bracket(old) == is_bracket(new) && fits) {
                old->row = UINT32_MAX;
                return true;
            }
        }
    }
    return false;
}

// Leaves the new ones in c->after.
static void drop_old(struct checking *c)
{
    struct diff d = {0};
    size_t before = c->before.len, after = c->after.len, kept = 0;
    bool touched = false; // one of them lies in a line that was changed
    if (before == 0) {
        return;
    }
    if (diff_lines(&d, c->request->before, c->request->after, NULL) != PI_OK) {
        c->after.len = 0;
        return;
    }
    for (size_t i = 0; i < after; i++) {
        struct fault f = c->after.items[i];
        size_t from, to;
        if (!take_old(c, &d, &f)) {
            c->after.items[kept++] = f;
            touched = touched || old_rows(&d, f.row, &from, &to);
        }
    }
    // The parser may recover elsewhere from the same error.
    c->after.len = touched || after > before ? kept : 0;
    diff_finish(&d);
}

static size_t column_of(struct sv text, const struct fault *f)
{
    struct sv line = faults_line(text, f->offset);
    size_t column = 1;
    for (const char *p = line.p; p && p < text.p + f->offset; p++) {
        column += ((unsigned char)*p & 0xC0) != 0x80;
    }
    return column;
}

static void add_what(struct buf *out, const struct fault *f)
{
    switch (f->kind) {
    case FAULT_UNCLOSED:
        buf_addf(out, "\"%s\" is not closed", f->token);
        break;
    case FAULT_UNOPENED:
        buf_addf(out, "nothing is open that \"%s\" could close", f->token);
        break;
    case FAULT_MISSING:
        buf_addf(out, "%s%s is missing", f->token[0] ? f->token : "something",
                 f->token[0] ? "" : " here");
        break;
    case FAULT_NO_BLOCK:
        buf_adds(out, "no indented block follows");
        break;
    case FAULT_INDENT:
        buf_adds(out, "indentation that fits no other line");
        break;
    case FAULT_ERROR:
    case FAULT_WHOLE:
        buf_adds(out, "cannot be parsed");
        if (f->last_row > f->row) {
            buf_addf(out, " as far as line %" PRIu32, f->last_row + 1);
        }
        break;
    }
}

static void add_fault(struct buf *out, struct sv text, const struct fault *f)
{
    struct sv line = faults_line(text, f->offset);
    size_t start = f->offset - (size_t)(line.p - text.p);
    while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
        line = sv_from(line, 1);
        start -= start > 0;
    }
    if (line.n > SHOWN_LINE_BYTES && start > SHOWN_LINE_BYTES / 2) {
        line = sv_from(line, start - SHOWN_LINE_BYTES / 2);
    }
    buf_addf(out, "\nline %" PRIu32 ", column %zu: ", f->row + 1, column_of(text, f));
    add_what(out, f);
    buf_adds(out, ": ");
    utf8_repair(out, sv_sub(line, 0, SHOWN_LINE_BYTES));
}

static void tell(struct buf *out, const struct checking *c)
{
    const struct faults *f = &c->after;
    size_t shown = f->len < SHOWN_MAX ? f->len : SHOWN_MAX;
    bool may_be_macro = strcmp(c->language, "c") == 0 || strcmp(c->language, "cpp") == 0;
    buf_adds(out, c->request->is_new ? "\n[The file has " : "\n[The file now has ");
    if (f->len == 1) {
        buf_adds(out, "a syntax error");
    } else {
        buf_addf(out, "%zu syntax errors", f->len);
    }
    buf_addf(out, "%s%s:", c->request->is_new ? "" : " that it did not have before",
             shown < f->len ? ", the first" : "");
    for (size_t i = 0; i < shown; i++) {
        add_fault(out, c->request->after, &f->items[i]);
        may_be_macro = may_be_macro && !is_bracket(&f->items[i]);
    }
    buf_adds(out, may_be_macro ? "\n(unless a macro explains it)]" : "]");
}

// Of a file that is new nobody knows whether it was meant to stand alone.
static bool may_be_part(const struct checking *c)
{
    return c->request->is_new && c->after.items[0].kind == FAULT_WHOLE;
}

void check_syntax(struct buf *out, const struct check_request *request)
{
    struct checking c = {.request = request};
    if (find_language(&c) && find_faults(&c.after, &c, request->after) &&
        c.after.len > 0 && !may_be_part(&c) &&
        (request->is_new || find_faults(&c.before, &c, request->before))) {
        drop_old(&c);
        if (c.after.len > 0) {
            tell(out, &c);
        }
    }
    faults_finish(&c.before);
    faults_finish(&c.after);
}
