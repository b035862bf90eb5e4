#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "syntax/command_inside.h"

bool command_visit_word(struct command_parser *p, TSNode node, size_t command,
                        struct command_place at)
{
    struct command_word word = {0};
    return command_word_read(p, &word, node, ts_node_start_byte(node)) &&
           command_add_word(p, command, &word) && command_visit_expansions(p, node, at);
}

// ---- assignments and redirections

static bool is_name(struct sv s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return s.n > 0;
}

// Behind the "=" or "+=" of "name=value" or "name[index]=value"; 0 when it is none.
static size_t value_offset(struct sv s)
{
    size_t at = 0;
    while (at < s.n && is_name(sv_sub(s, 0, at + 1))) {
        at++;
    }
    if (at > 0 && at < s.n && s.p[at] == '[') {
        const char *close = memchr(s.p + at, ']', s.n - at);
        at = close ? (size_t)(close - s.p) + 1 : s.n;
    }
    if (at > 0 && at + 1 < s.n && s.p[at] == '+' && s.p[at + 1] == '=') {
        return at + 2;
    }
    return at > 0 && at < s.n && s.p[at] == '=' ? at + 1 : 0;
}

static bool read_value(struct command_parser *p, struct command_word *out, TSNode node,
                       size_t from)
{
    TSNode value = parse_field(node, "value");
    if (!parse_is(value, "array")) {
        return command_word_read(p, out, node, from);
    }
    struct sv text = sv_sub(p->text, from, ts_node_end_byte(node) - from);
    *out = (struct command_word){.text = strndup(text.p, text.n),
                                 .dynamic = COMMAND_ARRAY,
                                 .start = from,
                                 .end = from + text.n};
    return out->text || command_no_memory(p);
}

bool command_visit_assignment(struct command_parser *p, TSNode node, size_t command,
                              struct command_place at)
{
    struct command_list *l = p->out;
    struct sv text = parse_node_text(node, p->text);
    size_t skip = value_offset(text);
    size_t start = ts_node_start_byte(node);
    if (skip == 0 || (start > 0 && !command_is_meta(p->text.p[start - 1]) &&
                      p->text.p[start - 1] != '`')) {
        return command_fail_at(p, node);
    }
    struct command_assignment *grown = vec_grow(l->assignments, &l->assignments_cap,
                                                l->assignments_len + 1, sizeof *grown);
    if (!grown) {
        return command_no_memory(p);
    }
    l->assignments = grown;
    struct command_assignment a = {.command = command};
    if (!read_value(p, &a.value, node, start + skip)) {
        return false;
    }
    size_t name = skip - (text.p[skip - 2] == '+' && skip > 1 ? 2 : 1);
    a.name = strndup(text.p, name);
    if (!a.name) {
        command_word_finish(&a.value);
        return command_no_memory(p);
    }
    l->assignments[l->assignments_len++] = a;
    return command_visit_expansions(p, node, at);
}

static bool add_redirect(struct command_parser *p, struct command_redirect *r)
{
    struct command_list *l = p->out;
    struct command_redirect *grown =
        vec_grow(l->redirects, &l->redirects_cap, l->redirects_len + 1, sizeof *grown);
    if (!grown) {
        command_word_finish(&r->target);
        return command_no_memory(p);
    }
    l->redirects = grown;
    l->redirects[l->redirects_len++] = *r;
    return true;
}

static bool kind_of_sign(const char *sign, enum command_redirect_kind *kind)
{
    static const struct {
        const char *sign;
        enum command_redirect_kind kind;
    } table[] = {
        {"<", COMMAND_READ},        {">", COMMAND_WRITE},
        {">|", COMMAND_WRITE},      {"&>", COMMAND_WRITE},
        {">&", COMMAND_WRITE},      {">>", COMMAND_APPEND},
        {"&>>", COMMAND_APPEND},    {"<>", COMMAND_READ_WRITE},
        {"<&", COMMAND_DUPLICATE},  {">&-", COMMAND_DUPLICATE},
        {"<&-", COMMAND_DUPLICATE}, {"<<<", COMMAND_HERESTRING},
        {"<<", COMMAND_HEREDOC},    {"<<-", COMMAND_HEREDOC},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].sign, sign) == 0) {
            *kind = table[i].kind;
            return true;
        }
    }
    return false;
}

// "1", "-", "3-": what >& and <& take for a descriptor.
static bool is_descriptor_word(const struct command_word *w)
{
    size_t digits = strspn(w->text, "0123456789");
    const char *rest = w->text + digits;
    return w->dynamic == 0 && w->text[0] && (!*rest || (strcmp(rest, "-") == 0));
}

static bool visit_target(struct command_parser *p, TSNode child,
                         struct command_redirect *r, struct command_place at)
{
    if (r->target.text) {
        return command_fail_at(p, child); // more than one: they would be arguments
    }
    size_t start = ts_node_start_byte(child);
    return command_word_read(p, &r->target, child, start) &&
           command_visit_expansions(p, child, at);
}

static bool visit_redirect_child(struct command_parser *p, TSNode child,
                                 struct command_redirect *r, bool *sign,
                                 struct command_place at)
{
    const char *type = ts_node_type(child);
    if (!ts_node_is_named(child)) {
        if (*sign || !kind_of_sign(type, &r->kind)) {
            return command_fail_at(p, child);
        }
        *sign = true;
        return true;
    }
    if (strcmp(type, "file_descriptor") == 0) {
        size_t start = ts_node_start_byte(child);
        return start == 0 || command_is_meta(p->text.p[start - 1]) ||
               command_fail_at(p, child);
    }
    if (strcmp(type, "heredoc_body") == 0) {
        return command_visit_expansions(p, child, at);
    }
    if (strcmp(type, "heredoc_end") == 0) {
        return true;
    }
    if (strcmp(type, "heredoc_start") == 0) {
        struct sv text = parse_node_text(child, p->text);
        r->target = (struct command_word){.text = strndup(text.p, text.n),
                                          .start = ts_node_start_byte(child),
                                          .end = ts_node_end_byte(child)};
        return r->target.text || command_no_memory(p);
    }
    return visit_target(p, child, r, at);
}

// What the grammar puts into a here-document because it stands on the same line.
static bool visit_heredoc_rest(struct command_parser *p, TSNode child, size_t command,
                               struct command_place at, bool *taken);

bool command_visit_redirect(struct command_parser *p, TSNode node, size_t command,
                            struct command_place at)
{
    struct command_redirect r = {.command = command, .scope = at.scope};
    bool sign = false;
    bool heredoc = parse_is(node, "heredoc_redirect");
    uint32_t n = ts_node_child_count(node);
    for (uint32_t i = 0; i < n; i++) {
        TSNode child = ts_node_child(node, i);
        bool taken = false;
        bool ok = !heredoc || visit_heredoc_rest(p, child, command, at, &taken);
        if (ok && !taken) {
            ok = visit_redirect_child(p, child, &r, &sign, at);
        }
        if (!ok) {
            command_word_finish(&r.target);
            return false;
        }
    }
    bool closes = n > 0 && ts_node_end_byte(node) > 0 &&
                  p->text.p[ts_node_end_byte(node) - 1] == '-' && !r.target.text;
    if (!sign || (!r.target.text && !closes)) {
        command_word_finish(&r.target);
        return command_fail_at(p, node);
    }
    if (r.kind == COMMAND_WRITE && r.target.text && is_descriptor_word(&r.target) &&
        p->text.p[r.target.start - 1] == '&') {
        r.kind = COMMAND_DUPLICATE;
    }
    if (closes) {
        r.target.text = strdup("-");
        if (!r.target.text) {
            return command_no_memory(p);
        }
    }
    return add_redirect(p, &r);
}

bool command_is_redirect(TSNode node)
{
    return parse_is(node, "file_redirect") || parse_is(node, "heredoc_redirect") ||
           parse_is(node, "herestring_redirect");
}

static bool visit_heredoc_rest(struct command_parser *p, TSNode child, size_t command,
                               struct command_place at, bool *taken)
{
    const char *type = ts_node_type(child);
    *taken = true;
    if (command_is_redirect(child)) {
        return command_visit_redirect(p, child, command, at);
    }
    if (strcmp(type, "pipeline") == 0) {
        return command_visit_children(p, child, at);
    }
    if (strcmp(type, "|") == 0 || strcmp(type, "|&") == 0) {
        return true;
    }
    *taken = false;
    return strncmp(type, "heredoc_", 8) == 0 || strncmp(type, "<<", 2) == 0 ||
           strcmp(type, "file_descriptor") == 0 || command_fail_at(p, child);
}

// ---- the parts of a simple command

bool command_is_reserved(struct sv word)
{
    static const char *const words[] = {
        "if",   "then",   "else",  "elif",  "fi",  "do",     "done",
        "case", "esac",   "while", "until", "for", "select", "function",
        "in",   "coproc", "{",     "}",     "!",   "[[",     "]]",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (sv_eqs(word, words[i])) {
            return true;
        }
    }
    return false;
}

static struct sv as_written(const struct command_parser *p, const struct command_word *w)
{
    return sv_sub(p->text, w->start, w->end - w->start);
}

static void drop_word(struct command_simple *c)
{
    command_word_finish(&c->words[0]);
    c->words_len--;
    memmove(c->words, c->words + 1, c->words_len * sizeof *c->words);
}

bool command_check_name(struct command_parser *p, size_t command)
{
    // "time" takes these and is no command itself.
    static const char *const options[] = {"-p", "--"};
    struct command_simple *c = &p->out->commands[command];
    while (c->words_len > 0 && sv_eqs(as_written(p, &c->words[0]), "time")) {
        drop_word(c);
        for (size_t i = 0; i < sizeof options / sizeof *options && c->words_len > 0;
             i++) {
            if (sv_eqs(as_written(p, &c->words[0]), options[i])) {
                drop_word(c);
            }
        }
    }
    if (c->words_len == 0) {
        return true;
    }
    struct sv written = as_written(p, &c->words[0]);
    bool plain = !command_is_reserved(written) && value_offset(written) == 0;
    return plain || command_fail(p, c->words[0].start);
}

// Between the parts of a simple command no line may end.
bool command_check_gaps(struct command_parser *p, TSNode node, size_t *dash)
{
    size_t at = ts_node_start_byte(node);
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        size_t start = ts_node_start_byte(child);
        bool gap = start <= at || command_is_gap(p->text, at, start, false);
        if (!gap && dash && i == 1 && parse_is(child, "heredoc_redirect") &&
            command_is_dash_gap(p->text, at, start)) {
            *dash = at + strcspn(p->text.p + at, "-");
            gap = true;
        }
        if (!gap) {
            return command_fail(p, at);
        }
        at = ts_node_end_byte(child);
    }
    return true;
}

static bool visit_part(struct command_parser *p, TSNode child, size_t command,
                       struct command_place at)
{
    static const char *const words[] = {
        "command_name",
        "word",
        "raw_string",
        "string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
        "variable_name",
        "$",
        "==",
        "=~",
        "test_operator",
    };
    if (parse_is(child, "variable_assignment")) {
        return command_visit_assignment(p, child, command, at);
    }
    if (command_is_redirect(child)) {
        return command_visit_redirect(p, child, command, at);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (parse_is(child, words[i])) {
            return command_visit_word(p, child, command, at);
        }
    }
    return command_fail_at(p, child);
}

bool command_visit_parts(struct command_parser *p, TSNode node, size_t command,
                         struct command_place at)
{
    if (ts_node_child_count(node) > COMMAND_CHILDREN_MAX) {
        return command_fail_at(p, node);
    }
    if (!command_check_gaps(p, node, NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        if (!visit_part(p, ts_node_child(node, i), command, at)) {
            return false;
        }
    }
    return true;
}
