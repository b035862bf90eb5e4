#include <string.h>

#include "syntax/command_inside.h"

bool command_is_gap(struct sv text, size_t from, size_t to, bool newlines)
{
    for (size_t i = from; i < to; i++) {
        char c = text.p[i];
        if (c == '\\' && i + 1 < to && text.p[i + 1] == '\n') {
            i++; // lines that are joined
        } else if (c != ' ' && c != '\t' && (c != '\n' || !newlines)) {
            return false;
        }
    }
    return true;
}

static bool is_substitution_at(struct sv text, size_t i)
{
    return text.p[i] == '`' ||
           (text.p[i] == '$' && i + 1 < text.n && text.p[i + 1] == '(');
}

// A substitution inside of what the grammar takes for plain text.
static bool hides_substitution(struct sv leaf, bool escapes)
{
    for (size_t i = 0; i < leaf.n; i++) {
        if (escapes && leaf.p[i] == '\\') {
            i++;
        } else if (is_substitution_at(leaf, i)) {
            return true;
        }
    }
    return false;
}

static bool is_sign(struct sv leaf)
{
    static const char *const signs[] = {"$(", "`", "$((", "$"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (sv_eqs(leaf, signs[i])) {
            return true;
        }
    }
    return false;
}

// Comments, and what single quotes or a quoted delimiter protect.
struct protection {
    size_t expansion_end; // of ${ }, in which quotes may not protect
    size_t heredoc_end;   // of a body that is taken as it is
    size_t body_end; // of a body with expansions: no leaves for the text between them
};

// A comment begins a word, which no blank with a backslash does, and ends with its line,
// but between backticks also with them.
static bool is_comment(struct sv text, size_t start, size_t end)
{
    bool begins = start == 0 || command_is_meta(text.p[start - 1]);
    bool escaped = start > 1 && text.p[start - 2] == '\\';
    bool ends = end == text.n || text.p[end] == '\n';
    return begins && !escaped && ends && !memchr(text.p + start, '`', end - start);
}

static bool check_leaf(struct command_parser *p, TSNode node, struct sv leaf,
                       const struct protection *by)
{
    size_t start = ts_node_start_byte(node);
    bool in_expansion = start < by->expansion_end;
    if (parse_is(node, "comment")) {
        return is_comment(p->text, start, ts_node_end_byte(node));
    }
    if (is_sign(leaf) || start < by->heredoc_end) {
        return true;
    }
    bool quoted = parse_is(node, "raw_string") || parse_is(node, "ansi_c_string");
    if (quoted && !in_expansion) {
        return true;
    }
    return !hides_substitution(leaf, !in_expansion);
}

static struct sv line_at(struct sv text, size_t from)
{
    struct sv rest = sv_from(text, from), line = {0};
    return sv_next_line(&rest, &line) ? line : sv_from(text, text.n);
}

// The delimiter without its quotes; false when there is more to it.
static bool delimiter_of(struct sv written, struct sv *plain, bool *quoted)
{
    char q = written.n > 0 ? written.p[0] : '\0';
    *quoted = q == '\'' || q == '"';
    *plain = *quoted ? sv_sub(written, 1, written.n - 2) : written;
    if (*quoted && (written.n < 3 || written.p[written.n - 1] != q)) {
        return false;
    }
    for (size_t i = 0; i < plain->n; i++) {
        if (strchr("\\'\"$`\n", plain->p[i]) || command_is_meta(plain->p[i])) {
            return false;
        }
    }
    return plain->n > 0;
}

// Looks for the end as bash does: the next line that is the delimiter and nothing else.
static bool check_heredoc(struct command_parser *p, TSNode redirect, bool *quoted)
{
    TSNode start = {0}, end = {0};
    bool strip = false;
    for (uint32_t i = 0; i < ts_node_child_count(redirect); i++) {
        TSNode child = ts_node_child(redirect, i);
        strip = strip || parse_is(child, "<<-");
        start = parse_is(child, "heredoc_start") ? child : start;
        end = parse_is(child, "heredoc_end") ? child : end;
    }
    struct sv delimiter;
    if (ts_node_is_null(start) || ts_node_is_null(end) ||
        !delimiter_of(parse_node_text(start, p->text), &delimiter, quoted)) {
        return false;
    }
    size_t at = ts_node_end_byte(start);
    at += line_at(p->text, at).n + 1;
    while (at < p->text.n) {
        struct sv line = line_at(p->text, at);
        size_t skip = 0;
        while (strip && skip < line.n && line.p[skip] == '\t') {
            skip++;
        }
        if (sv_eq(sv_from(line, skip), delimiter)) {
            size_t found = ts_node_start_byte(end);
            return found >= at && found <= at + skip &&
                   ts_node_end_byte(end) == at + line.n;
        }
        // A line that is joined with the next one does not end where it seems to.
        if (!*quoted && sv_ends(line, sv_of("\\"))) {
            return false;
        }
        at += line.n + 1;
    }
    return false;
}

// The body begins behind the line, unless something else goes on behind it first: another
// here-document, quotes, brackets.
static bool is_simple_heredoc(struct command_parser *p, TSNode redirect)
{
    struct sv rest = line_at(p->text, ts_node_start_byte(redirect) + 2);
    bool delimiter = true; // which may be quoted
    for (size_t i = 0; i < rest.n; i++) {
        char c = rest.p[i];
        delimiter = delimiter && (i == 0 || !command_is_meta(c));
        bool quote = c == '\'' || c == '"';
        if ((quote && !delimiter) || strchr("\\`#({", c) ||
            (c == '<' && i + 1 < rest.n && rest.p[i + 1] == '<')) {
            return false;
        }
    }
    return true;
}

bool command_is_arithmetic(struct sv text)
{
    size_t from = sv_starts(text, sv_of("$")) ? 3 : 2;
    int open = 0;
    if (text.n < from + 2 || !sv_ends(text, sv_of("))"))) {
        return false;
    }
    for (size_t i = from; i + 2 < text.n; i++) {
        open += (text.p[i] == '(') - (text.p[i] == ')');
        if (open < 0 || strchr(";\n'\"`#\\{", text.p[i])) {
            return false;
        }
    }
    return open == 0;
}

// Signs that bash may take for others.
static bool is_ambiguous(TSNode node, struct sv text)
{
    if (parse_is(node, "arithmetic_expansion")) {
        bool known = sv_starts(text, sv_of("$((")) || sv_starts(text, sv_of("(("));
        return !known || !command_is_arithmetic(text);
    }
    if (parse_is(node, "command_substitution")) {
        // What backslashes mean between backticks is a matter of its own.
        return sv_starts(text, sv_of("$((")) ||
               (sv_starts(text, sv_of("`")) && memchr(text.p, '\\', text.n));
    }
    if (parse_is(node, "expansion")) {
        return text.n < 3 || strchr(" \t\n|", text.p[2]);
    }
    return false;
}

static bool visit(struct command_parser *p, TSNode node, struct protection *by)
{
    if (parse_is(node, "expansion") && ts_node_end_byte(node) > by->expansion_end) {
        by->expansion_end = ts_node_end_byte(node);
    }
    if (is_ambiguous(node, parse_node_text(node, p->text))) {
        return false;
    }
    if (parse_is(node, "heredoc_redirect")) {
        bool quoted = false;
        if (!is_simple_heredoc(p, node) || !check_heredoc(p, node, &quoted)) {
            return false;
        }
        by->heredoc_end = quoted ? ts_node_end_byte(node) : by->heredoc_end;
    }
    return true;
}

bool command_is_dash_gap(struct sv text, size_t from, size_t to)
{
    const char *dash = to > from + 2 ? memchr(text.p + from, '-', to - from) : NULL;
    size_t at = dash ? (size_t)(dash - text.p) : from;
    return at > from && at + 1 < to && command_is_gap(text, from, at, false) &&
           command_is_gap(text, at + 1, to, false);
}

// What lies before a node and in no leaf: [at, start).
static bool check_gap(struct command_parser *p, TSNode node, size_t at,
                      const struct protection *by)
{
    size_t start = ts_node_start_byte(node);
    if (at < by->body_end) {
        size_t end = start < by->body_end ? start : by->body_end;
        return !hides_substitution(sv_sub(p->text, at, end - at), true) &&
               command_is_gap(p->text, end, start, true);
    }
    if (command_is_gap(p->text, at, start, true)) {
        return true;
    }
    // The grammar has no node for the "-" of "python3 - <<E".
    bool dash = (parse_is(node, "<<") || parse_is(node, "<<-")) &&
                command_is_dash_gap(p->text, at, start);
    p->dashes += dash;
    return dash;
}

bool command_check_tree(struct command_parser *p, TSNode root)
{
    struct parse_walk w = parse_walk_start(root);
    struct protection by = {0};
    TSNode node;
    size_t at = 0;
    bool ok = true;
    while (ok && parse_walk_next(&w, true, &node)) {
        size_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
        ok = visit(p, node, &by);
        if (ok && parse_is(node, "heredoc_body") && start >= by.heredoc_end) {
            ok = start >= at && command_is_gap(p->text, at, start, true);
            by.body_end = end;
            at = start;
        }
        if (!ok || ts_node_child_count(node) > 0) {
            continue;
        }
        // Nodes of the scanner may overlap with what stands before them.
        ok = end <= p->text.n && (start >= at || end <= at) &&
             (start < at || check_gap(p, node, at, &by)) &&
             check_leaf(p, node, sv_sub(p->text, start, end - start), &by);
        at = end > at ? end : at;
    }
    parse_walk_finish(&w);
    ok = ok && command_is_gap(p->text, at, p->text.n, true);
    return ok || command_fail(p, at);
}
