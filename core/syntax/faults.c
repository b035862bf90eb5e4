#include "syntax/faults.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { FAULTS_MAX = 200 }; // a text with more is of another language

void faults_finish(struct faults *f)
{
    free(f->items);
    *f = (struct faults){0};
}

void faults_add(struct faults *out, enum fault_kind kind, TSNode node, const char *token)
{
    if (out->len >= FAULTS_MAX || out->failed) {
        return;
    }
    struct fault *grown =
        vec_grow(out->items, &out->cap, out->len + 1, sizeof *out->items);
    if (!grown) {
        out->failed = true;
        return;
    }
    out->items = grown;
    struct fault *f = &grown[out->len++];
    TSPoint end = ts_node_end_point(node); // may be the start of the next line
    *f = (struct fault){
        .kind = kind,
        .offset = ts_node_start_byte(node),
        .row = ts_node_start_point(node).row,
        .last_row = end.row - (end.row > 0 && end.column == 0),
    };
    size_t n = strlen(token);
    if (n < sizeof f->token) {
        memcpy(f->token, token, n);
    }
}

struct sv faults_line(struct sv text, uint32_t offset)
{
    size_t at = offset < text.n ? offset : text.n;
    const char *lf = at > 0 ? memrchr(text.p, '\n', at) : NULL;
    struct sv rest = sv_from(text, lf ? (size_t)(lf - text.p) + 1 : 0);
    struct sv line = sv_make(rest.p, 0);
    if (sv_next_line(&rest, &line) && sv_ends(line, sv_of("\r"))) {
        line.n--;
    }
    return line;
}

size_t faults_indent(struct sv text, uint32_t offset, bool *first)
{
    struct sv line = faults_line(text, offset);
    size_t n = 0;
    while (n < line.n && (line.p[n] == ' ' || line.p[n] == '\t')) {
        n++;
    }
    *first = text.p && line.p + n >= text.p + offset;
    return n;
}

static bool is_c(const char *language)
{
    return strcmp(language, "c") == 0 || strcmp(language, "cpp") == 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// A name that macros have: all capitals, or reserved for the compiler.
static bool is_macro(struct sv word)
{
    static const char *const values[] = {"NULL", "EOF", "TRUE", "FALSE"};
    bool lower = false, upper = false;
    for (size_t i = 0; i < word.n; i++) {
        lower = lower || islower((unsigned char)word.p[i]);
        upper = upper || isupper((unsigned char)word.p[i]);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (sv_eqs(word, values[i])) {
            return false;
        }
    }
    return sv_starts(word, sv_of("__")) || (word.n > 2 && upper && !lower);
}

// first: in front of the line.
static bool has_macro(struct sv line, bool first)
{
    size_t at = 0;
    while (at < line.n) {
        size_t start = at;
        while (at < line.n && is_word(line.p[at])) {
            at++;
        }
        if (at > start && (is_macro(sv_sub(line, start, at - start)) || first)) {
            return is_macro(sv_sub(line, start, at - start));
        }
        at = at > start ? at : at + 1;
    }
    return false;
}

// "#if" and so on: both branches of it need not make sense together.
static bool is_branch(struct sv line)
{
    while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
        line = sv_from(line, 1);
    }
    return sv_starts(line, sv_of("#if")) || sv_starts(line, sv_of("#el")) ||
           sv_starts(line, sv_of("#end"));
}

// In the lines of the node, two before and one after: a macro without a semicolon is
// missed on the next line, one at the end of a declaration may stand on a line of its
// own. Where only a semicolon is missing, macros inside of a line say nothing, unless
// strings stand there, too.
static bool is_of_macro(struct sv text, TSNode node)
{
    struct sv line = faults_line(text, ts_node_start_byte(node));
    size_t start = line.p ? (size_t)(line.p - text.p) : 0;
    for (int i = 0; start > 0 && i < 2; i++) {
        line = faults_line(text, (uint32_t)start - 1);
        start = (size_t)(line.p - text.p);
    }
    struct sv rest = sv_from(text, start);
    const char *end = text.p + ts_node_end_byte(node);
    bool found = false;
    bool first = ts_node_is_missing(node) && strcmp(ts_node_type(node), ";") == 0;
    for (int after = 0; !found && after < 2 && sv_next_line(&rest, &line);
         after += rest.p > end) {
        found = has_macro(line, first && !memchr(line.p, '"', line.n)) || is_branch(line);
    }
    return found;
}

static void find_errors(struct faults *out, TSNode root, struct sv text,
                        const char *language)
{
    bool macros = is_c(language);
    struct parse_walk w = parse_walk_start(root);
    TSNode node;
    bool descend = true;
    while (parse_walk_next(&w, descend, &node)) {
        bool missing = ts_node_is_missing(node);
        bool error = parse_is(node, "ERROR");
        descend = ts_node_has_error(node) && !missing;
        // An ERROR around everything says nothing about where.
        bool told = missing || (error && w.depth > 0);
        if (!told || (macros && is_of_macro(text, node))) {
            continue;
        }
        descend = false;
        if (faults_newer(text, ts_node_start_byte(node), language)) {
            continue;
        }
        faults_add(out, missing ? FAULT_MISSING : FAULT_ERROR, node,
                   missing ? ts_node_type(node) : "");
    }
    parse_walk_finish(&w);
}

static int by_offset(const void *a, const void *b)
{
    const struct fault *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

void faults_find(struct faults *out, TSNode root, struct sv text, const char *language)
{
    bool c = is_c(language);
    if (ts_node_has_error(root) && !(c && faults_c_balanced(text))) {
        faults_brackets(out, root, text, c);
    }
    if (out->len == 0 && ts_node_has_error(root)) {
        find_errors(out, root, text, language);
    }
    if (out->len == 0 && parse_is(root, "ERROR") &&
        !faults_newer(text, ts_node_start_byte(root), language) &&
        !(c && is_of_macro(text, root))) {
        faults_add(out, FAULT_WHOLE, root, "");
    }
    if (out->len == 0 && strcmp(language, "python") == 0) {
        faults_indentation(out, root, text);
    }
    if (out->len > 1) {
        qsort(out->items, out->len, sizeof *out->items, by_offset);
    }
}
