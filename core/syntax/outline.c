#include "syntax/outline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "syntax/language.h"
#include "syntax/outline_rules.h"
#include "text/utf8.h"

enum {
    ROWS_MAX = 20000,     // that are looked at
    NESTING_MAX = 16,     // of rows
    NAME_MAX_BYTES = 100, // of a row
};

struct row {
    uint32_t first, last; // lines, from 1
    uint32_t depth;
    const struct outline_rule *rule;
    TSNode node;
    bool in_type; // of the kind that has methods
    bool left_out;
};

struct making {
    const struct outline_request *request;
    const char *language;
    const struct outline_rule *rules;
    const struct outline_rule **of_symbol; // for each symbol of the grammar
    uint32_t symbols;
    struct row *rows;
    size_t len, cap;
    // The rows that the walk is inside of.
    struct {
        size_t row;
        unsigned depth; // of the walk
    } open[NESTING_MAX];
    size_t open_len;
    bool header;
    bool failed;
};

static bool is_header(const char *path)
{
    static const char *const endings[] = {".h", ".hh", ".hpp", ".hxx", ".h++"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (sv_ends(sv_of(path), sv_of(endings[i]))) {
            return true;
        }
    }
    return false;
}

static bool map_symbols(struct making *m, const TSLanguage *grammar)
{
    m->symbols = ts_language_symbol_count(grammar);
    m->of_symbol = calloc(m->symbols + 1, sizeof(struct outline_rule *));
    for (uint32_t i = 0; m->of_symbol && i < m->symbols; i++) {
        const char *name = ts_language_symbol_name(grammar, (TSSymbol)i);
        bool named = ts_language_symbol_type(grammar, (TSSymbol)i) == TSSymbolTypeRegular;
        for (const struct outline_rule *r = m->rules; named && name && r->type; r++) {
            if (strcmp(r->type, name) == 0 && (!r->header || m->header)) {
                m->of_symbol[i] = r;
            }
        }
    }
    return m->of_symbol != NULL;
}

// Without the blank lines that some grammars count in.
static uint32_t last_line(TSNode node, struct sv text)
{
    uint32_t line = ts_node_end_point(node).row + 1;
    size_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    while (end > start && end <= text.n && strchr(" \t\r\n", text.p[end - 1])) {
        line -= text.p[--end] == '\n';
    }
    return line;
}

static bool holds_methods(const struct outline_rule *rule)
{
    static const char *const kinds[] = {"class", "impl", "trait", "struct", "interface"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], rule->kind) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_name(const struct making *m, const struct outline_rule *rule, TSNode node)
{
    struct buf name = {0};
    bool found = rule->name(&name, node, m->request->text) && buf_ok(&name);
    buf_finish(&name);
    return found;
}

static void add_row(struct making *m, const struct outline_rule *rule, TSNode node,
                    const struct parse_walk *w)
{
    TSNode owner = parse_walk_parent(w);
    bool wrapped = !ts_node_is_null(owner) && outline_is_wrapper(ts_node_type(owner));
    struct row row = {
        .first = ts_node_start_point(wrapped ? owner : node).row + 1,
        .last = last_line(node, m->request->text),
        .depth = (uint32_t)m->open_len,
        .rule = rule,
        .node = node,
        .in_type =
            m->open_len > 0 && holds_methods(m->rows[m->open[m->open_len - 1].row].rule),
    };
    if (row.last + 1 < row.first + rule->min_lines || !has_name(m, rule, node)) {
        return;
    }
    struct row *grown = vec_grow(m->rows, &m->cap, m->len + 1, sizeof *m->rows);
    if (!grown) {
        m->failed = true;
        return;
    }
    m->rows = grown;
    if (m->open_len < NESTING_MAX) {
        m->open[m->open_len].row = m->len;
        m->open[m->open_len++].depth = w->depth;
    }
    m->rows[m->len++] = row;
}

static void collect(struct making *m, TSNode root)
{
    struct parse_walk w = parse_walk_start(root);
    TSNode node;
    while (!m->failed && m->len < ROWS_MAX && parse_walk_next(&w, true, &node)) {
        while (m->open_len > 0 && m->open[m->open_len - 1].depth >= w.depth) {
            m->open_len--;
        }
        TSSymbol symbol = ts_node_symbol(node);
        const struct outline_rule *rule =
            symbol < m->symbols ? m->of_symbol[symbol] : NULL;
        if (rule && w.depth > 0) {
            add_row(m, rule, node, &w);
        }
    }
    parse_walk_finish(&w);
}

// Deepest first, then shortest, then last.
static int by_worth(const void *a, const void *b)
{
    const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
    uint32_t x_lines = x->last - x->first, y_lines = y->last - y->first;
    if (x->depth != y->depth) {
        return x->depth > y->depth ? -1 : 1;
    }
    if (x_lines != y_lines) {
        return x_lines < y_lines ? -1 : 1;
    }
    return x > y ? -1 : x < y;
}

static size_t leave_out(struct making *m)
{
    if (m->len <= OUTLINE_MAX_ROWS) {
        return 0;
    }
    struct row **order = malloc(m->len * sizeof(struct row *));
    if (!order) {
        m->failed = true;
        return 0;
    }
    for (size_t i = 0; i < m->len; i++) {
        order[i] = &m->rows[i];
    }
    qsort(order, m->len, sizeof *order, by_worth);
    size_t excess = m->len - OUTLINE_MAX_ROWS;
    for (size_t i = 0; i < excess; i++) {
        order[i]->left_out = true;
    }
    free(order);
    return excess;
}

// In one line, with single blanks.
static void add_name(struct buf *out, struct sv name)
{
    struct buf plain = {0};
    for (size_t i = 0; i < name.n; i++) {
        bool inside = ((unsigned char)name.p[i] & 0xC0) == 0x80; // of a character
        if (plain.len >= NAME_MAX_BYTES && !inside) {
            break;
        }
        bool blank = (unsigned char)name.p[i] <= ' ';
        bool after = plain.len > 0 && plain.data[plain.len - 1] == ' ';
        if (!blank || (plain.len > 0 && !after)) {
            buf_addc(&plain, blank ? ' ' : name.p[i]);
        }
    }
    utf8_repair(out, buf_sv(&plain));
    buf_finish(&plain);
}

static void write_row(struct buf *out, const struct making *m, const struct row *row)
{
    struct buf name = {0};
    const char *kind = row->rule->kind;
    if (row->in_type && strcmp(kind, "function") == 0) {
        kind = "method";
    }
    row->rule->name(&name, row->node, m->request->text);
    buf_addf(out, "%*s%" PRIu32, (int)(2 * row->depth), "", row->first);
    if (row->last > row->first) {
        buf_addf(out, "-%" PRIu32, row->last);
    }
    buf_addf(out, " %s%s", kind, *kind ? " " : "");
    add_name(out, buf_sv(&name));
    buf_addc(out, '\n');
    buf_finish(&name);
}

static bool write_rows(struct buf *out, size_t *left_out, struct making *m)
{
    size_t start = out->len;
    size_t excess = leave_out(m);
    for (size_t i = 0; i < m->len && !m->failed; i++) {
        if (!m->rows[i].left_out) {
            write_row(out, m, &m->rows[i]);
        }
    }
    m->failed = m->failed || !buf_ok(out);
    if (m->failed || m->len == 0) {
        buf_truncate(out, start);
        return false;
    }
    *left_out = excess;
    return true;
}

static const char *write_parsed(struct buf *out, size_t *left_out, struct making *m,
                                const TSLanguage *grammar)
{
    TSTree *tree = NULL;
    const struct outline_request *r = m->request;
    enum pi_status status = parse_text(&tree, grammar, r->text, r->cancel, NULL);
    if (status) {
        return status == PI_LIMIT ? "it takes too long to parse" : "it cannot be parsed";
    }
    m->failed = !map_symbols(m, grammar);
    if (!m->failed) {
        collect(m, ts_tree_root_node(tree));
    }
    bool written = write_rows(out, left_out, m);
    ts_tree_delete(tree);
    return written     ? NULL
           : m->failed ? "there is no memory for one"
                       : "nothing was found for one";
}

const char *outline_write(struct buf *out, size_t *left_out,
                          const struct outline_request *request)
{
    struct making m = {.request = request, .header = is_header(request->path)};
    m.language = language_of(request->path, request->text);
    if (!m.language) {
        return "its language is not known";
    }
    m.rules = outline_rules(m.language);
    if (!m.rules) {
        return "its language has none";
    }
    const TSLanguage *grammar = grammars_get(request->grammars, m.language);
    if (!grammar) {
        return "no grammar for its language is installed";
    }
    if (request->text.n > OUTLINE_MAX_BYTES) {
        return "it has more than 2 MiB";
    }
    const char *why = write_parsed(out, left_out, &m, grammar);
    free(m.of_symbol);
    free(m.rows);
    return why;
}
