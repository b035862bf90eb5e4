#include "syntax/command.h"

#include <stdlib.h>
#include <string.h>

#include "syntax/command_inside.h"

enum { DEPTH_MAX = 60 }; // of statements inside of each other

static bool visit_statement(struct command_parser *p, TSNode node,
                            struct command_place at);

static bool add_sign(struct command_parser *p, TSNode node, struct command_place at,
                     const char *sign)
{
    size_t command;
    struct command_word word = {.text = strdup(sign),
                                .start = ts_node_start_byte(node),
                                .end = ts_node_start_byte(node) + strlen(sign)};
    if (!word.text) {
        return command_no_memory(p);
    }
    if (!command_add(p, &command, node, at)) {
        command_word_finish(&word);
        return false;
    }
    return command_add_word(p, command, &word);
}

// ---- simple commands

static bool visit_test(struct command_parser *p, TSNode node, struct command_place at);

static bool visit_command(struct command_parser *p, TSNode node, struct command_place at)
{
    size_t command;
    if (sv_starts(parse_node_text(node, p->text), sv_of("(("))) {
        return visit_test(p, node, at);
    }
    return command_add(p, &command, node, at) &&
           command_visit_parts(p, node, command, at) && command_check_name(p, command);
}

// export, declare, local, readonly, typeset, unset: assignments are arguments here.
static bool visit_declaration(struct command_parser *p, TSNode node,
                              struct command_place at)
{
    size_t command;
    if (!command_add(p, &command, node, at) || !command_check_gaps(p, node, NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        TSNode value = parse_field(child, "value");
        struct command_word word = {0};
        bool ok;
        if (parse_is(value, "array")) {
            struct sv text = parse_node_text(child, p->text);
            word = (struct command_word){.text = strndup(text.p, text.n),
                                         .dynamic = COMMAND_ARRAY,
                                         .start = ts_node_start_byte(child),
                                         .end = ts_node_end_byte(child)};
            ok = (word.text || command_no_memory(p)) &&
                 command_add_word(p, command, &word) &&
                 command_visit_expansions(p, child, at);
        } else if (command_is_redirect(child)) {
            ok = command_visit_redirect(p, child, command, at);
        } else {
            ok = command_visit_word(p, child, command, at);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool visit_lone_assignments(struct command_parser *p, TSNode node,
                                   struct command_place at)
{
    size_t command;
    if (!command_add(p, &command, node, at)) {
        return false;
    }
    return parse_is(node, "variable_assignment")
               ? command_visit_assignment(p, node, command, at)
               : command_visit_parts(p, node, command, at);
}

// ---- compound commands

static bool add_dash(struct command_parser *p, size_t command, size_t at)
{
    struct command_word word = {.text = strdup("-"), .start = at, .end = at + 1};
    p->dashes--;
    return word.text ? command_add_word(p, command, &word) : command_no_memory(p);
}

static bool visit_redirected(struct command_parser *p, TSNode node,
                             struct command_place at)
{
    TSNode body = parse_field(node, "body");
    size_t command = SIZE_MAX, dash = SIZE_MAX;
    bool simple = parse_is(body, "command");
    if (simple || ts_node_is_null(body)) {
        // A line that ended in between would end the command.
        if (!command_check_gaps(p, node, simple ? &dash : NULL) ||
            !command_add(p, &command, node, at)) {
            return false;
        }
    }
    if (simple &&
        !(command_visit_parts(p, body, command, at) && command_check_name(p, command))) {
        return false;
    }
    if (dash != SIZE_MAX && !add_dash(p, command, dash)) {
        return false;
    }
    bool compound = !simple && !ts_node_is_null(body);
    if (compound && (!command_add_scope(p, &at.scope, COMMAND_GROUP, at.scope) ||
                     !visit_statement(p, body, at))) {
        return false;
    }
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        bool ok =
            ts_node_eq(child, body) ||
            (command_is_redirect(child) ? command_visit_redirect(p, child, command, at)
                                        : command_fail_at(p, child));
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool visit_pipeline(struct command_parser *p, TSNode node, struct command_place at)
{
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        if (ts_node_is_named(child) && !visit_statement(p, child, at)) {
            return false;
        }
    }
    return true;
}

static bool visit_function(struct command_parser *p, TSNode node, struct command_place at)
{
    struct sv name = parse_node_text(parse_field(node, "name"), p->text);
    for (size_t i = 0; i < name.n; i++) {
        if (strchr("\\'\"$`*?[~{}", name.p[i]) || command_is_meta(name.p[i])) {
            return command_fail_at(p, node);
        }
    }
    size_t scope;
    if (name.n == 0 || command_is_reserved(name) ||
        !command_add_scope(p, &scope, COMMAND_FUNCTION, at.scope)) {
        return command_fail_at(p, node);
    }
    p->out->scopes[scope].name = strndup(name.p, name.n);
    if (!p->out->scopes[scope].name) {
        return command_no_memory(p);
    }
    at.scope = scope;
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        bool ok = true;
        if (command_is_redirect(child)) {
            ok = command_visit_redirect(p, child, SIZE_MAX, at);
        } else if (ts_node_is_named(child) &&
                   !ts_node_eq(child, parse_field(node, "name"))) {
            ok = visit_statement(p, child, at);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool visit_inner(struct command_parser *p, TSNode node, struct command_place at,
                        enum command_scope_kind kind)
{
    return command_add_scope(p, &at.scope, kind, at.scope) &&
           command_visit_children(p, node, at);
}

// "[" is a command like others: its line may end, and ">" writes a file.
static bool is_plain_test(struct command_parser *p, TSNode node)
{
    struct parse_walk w = parse_walk_start(node);
    TSNode inner;
    bool ok = !memchr(p->text.p + ts_node_start_byte(node), '\n',
                      ts_node_end_byte(node) - ts_node_start_byte(node));
    bool descend = true;
    while (ok && parse_walk_next(&w, descend, &inner)) {
        descend = !command_is_expansion(inner);
        struct sv leaf = parse_node_text(inner, p->text);
        for (size_t i = 0; descend && ts_node_child_count(inner) == 0 && i < leaf.n;
             i++) {
            ok = ok && !strchr("<>;|&()", leaf.p[i]);
        }
    }
    parse_walk_finish(&w);
    return ok;
}

static bool visit_test(struct command_parser *p, TSNode node, struct command_place at)
{
    struct sv text = parse_node_text(node, p->text);
    const char *sign = sv_starts(text, sv_of("[["))   ? "[["
                       : sv_starts(text, sv_of("((")) ? "(("
                       : sv_starts(text, sv_of("["))  ? "["
                                                      : NULL;
    bool plain = sign && (strcmp(sign, "[") == 0    ? is_plain_test(p, node)
                          : strcmp(sign, "((") == 0 ? command_is_arithmetic(text)
                                                    : true);
    return (plain || command_fail_at(p, node)) && add_sign(p, node, at, sign) &&
           command_visit_expansions(p, node, at);
}

static bool visit_compound(struct command_parser *p, TSNode node, struct command_place at)
{
    if (sv_starts(parse_node_text(node, p->text), sv_of("(("))) {
        return visit_test(p, node, at);
    }
    return visit_inner(p, node, at, COMMAND_GROUP);
}

// ---- statements

typedef bool (*visit_fn)(struct command_parser *p, TSNode node, struct command_place at);

static bool visit_group(struct command_parser *p, TSNode node, struct command_place at)
{
    return visit_inner(p, node, at, COMMAND_GROUP);
}

static bool visit_subshell(struct command_parser *p, TSNode node, struct command_place at)
{
    // Bash would try whether it is arithmetic.
    if (sv_starts(parse_node_text(node, p->text), sv_of("(("))) {
        return command_fail_at(p, node);
    }
    return visit_inner(p, node, at, COMMAND_SUBSHELL);
}

static bool visit_comment(struct command_parser *p, TSNode node, struct command_place at)
{
    (void)p;
    (void)node;
    (void)at;
    return true;
}

static const struct {
    const char *type;
    visit_fn visit;
} statements[] = {
    {"command", visit_command},
    {"declaration_command", visit_declaration},
    {"unset_command", visit_declaration},
    {"variable_assignment", visit_lone_assignments},
    {"variable_assignments", visit_lone_assignments},
    {"redirected_statement", visit_redirected},
    {"pipeline", visit_pipeline},
    {"negated_command", command_visit_children},
    {"list", command_visit_children},
    {"test_command", visit_test},
    {"subshell", visit_subshell},
    {"compound_statement", visit_compound},
    {"if_statement", visit_group},
    {"while_statement", visit_group},
    {"for_statement", visit_group},
    {"c_style_for_statement", visit_group},
    {"case_statement", visit_group},
    {"function_definition", visit_function},
    {"elif_clause", command_visit_children},
    {"else_clause", command_visit_children},
    {"do_group", command_visit_children},
    {"case_item", command_visit_children},
    {"comment", visit_comment},
};

static visit_fn find_statement(TSNode node)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (parse_is(node, statements[i].type)) {
            return statements[i].visit;
        }
    }
    return NULL;
}

static bool visit_statement(struct command_parser *p, TSNode node,
                            struct command_place at)
{
    visit_fn visit = find_statement(node);
    if (!visit || p->depth >= DEPTH_MAX) {
        return command_fail_at(p, node);
    }
    p->depth++;
    bool ok = visit(p, node, at);
    p->depth--;
    return ok;
}

// Words that are no commands: what is looped over, what is compared.
static bool is_value(TSNode parent, TSNode child)
{
    static const char *const types[] = {"for_statement", "c_style_for_statement",
                                        "case_statement", "case_item"};
    bool body = parse_is(child, "do_group") || parse_is(child, "compound_statement");
    for (size_t i = 0; i < sizeof types / sizeof *types && !body; i++) {
        if (parse_is(parent, types[i])) {
            return i == 1 || !find_statement(child);
        }
    }
    return false;
}

// What has statements and is none itself.
static bool is_container(TSNode node)
{
    static const char *const types[] = {"list",     "elif_clause", "else_clause",
                                        "do_group", "case_item",   "comment"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (parse_is(node, types[i])) {
            return true;
        }
    }
    return false;
}

// A pipeline for each statement, unless they are parts of one.
static bool visit_child(struct command_parser *p, TSNode parent, TSNode child,
                        struct command_place at)
{
    if (is_value(parent, child)) {
        return command_visit_expansions(p, child, at);
    }
    size_t position = 0;
    bool inside = parse_is(parent, "pipeline") || parse_is(parent, "negated_command");
    if (!inside && !is_container(child)) {
        at.pipeline = p->pipelines++;
        at.position = &position;
    }
    return visit_statement(p, child, at);
}

bool command_visit_children(struct command_parser *p, TSNode node,
                            struct command_place at)
{
    size_t first = p->out->len; // of the statement before an "&"
    if (ts_node_child_count(node) > COMMAND_CHILDREN_MAX) {
        return command_fail_at(p, node);
    }
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        if (ts_node_is_named(child)) {
            first = p->out->len;
            if (!visit_child(p, node, child, at)) {
                return false;
            }
        } else if (parse_is(child, "&")) {
            for (size_t c = first; c < p->out->len; c++) {
                p->out->commands[c].background = true;
            }
        } else if (parse_is(child, ";;") && !parse_is(node, "case_item")) {
            return command_fail_at(p, child);
        }
    }
    return true;
}

// The commands of a substitution; "$(< file)" has a redirection only.
static bool visit_substitution(struct command_parser *p, TSNode node,
                               struct command_place at)
{
    if (ts_node_child_count(node) > COMMAND_CHILDREN_MAX) {
        return command_fail_at(p, node);
    }
    if (!command_add_scope(p, &at.scope, COMMAND_SUBSTITUTED, at.scope)) {
        return false;
    }
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        if (command_is_redirect(child)) {
            if (!command_visit_redirect(p, child, SIZE_MAX, at)) {
                return false;
            }
        } else if (ts_node_is_named(child) && !visit_child(p, node, child, at)) {
            return false;
        }
    }
    return true;
}

// All substitutions below a node, whatever they stand in.
bool command_visit_expansions(struct command_parser *p, TSNode node,
                              struct command_place at)
{
    if (p->depth >= DEPTH_MAX || ts_node_child_count(node) > COMMAND_CHILDREN_MAX) {
        return command_fail_at(p, node);
    }
    struct parse_walk w = parse_walk_start(node);
    TSNode inner;
    bool ok = true, descend = true;
    p->depth++;
    while (ok && parse_walk_next(&w, descend, &inner)) {
        descend = !parse_is(inner, "command_substitution") &&
                  !parse_is(inner, "process_substitution");
        if (!descend) {
            ok = visit_substitution(p, inner, at);
        }
    }
    p->depth--;
    parse_walk_finish(&w);
    return ok;
}

// ---- the whole

// Bytes that bash and the grammar take differently. Bash joins lines before it looks at
// them, so that "$" and "(" on two lines may meet; behind a blank nothing can.
static bool has_odd_bytes(struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        char before = i > 0 ? text.p[i - 1] : ' ';
        bool joins = text.p[i] == '\\' && i + 1 < text.n && text.p[i + 1] == '\n';
        if (text.p[i] == '\0' || text.p[i] == '\r' ||
            (joins && before != ' ' && before != '\t')) {
            return true;
        }
    }
    return false;
}

static enum pi_status tell(const struct command_parser *p, struct pi_error *err)
{
    if (p->nomem) {
        return error_nomem(err);
    }
    return error_set(err, PI_INVALID, "the command is not understood at byte %zu",
                     p->where);
}

static bool visit_tree(struct command_parser *p, TSNode root)
{
    size_t top, position = 0;
    if (ts_node_has_error(root) || !parse_is(root, "program")) {
        return command_fail(p, 0);
    }
    return command_add_scope(p, &top, COMMAND_TOP, 0) && command_check_tree(p, root) &&
           command_visit_children(
               p, root, (struct command_place){.scope = top, .position = &position}) &&
           (p->dashes == 0 || command_fail(p, 0));
}

enum pi_status command_parse(struct command_list *out, struct grammars *grammars,
                             struct sv text, const struct cancel *cancel,
                             struct pi_error *err)
{
    struct command_parser p = {.out = out, .text = text};
    TSTree *tree = NULL;
    *out = (struct command_list){0};
    const TSLanguage *bash = grammars_get(grammars, "bash");
    if (!bash) {
        return error_set(err, PI_UNSUPPORTED, "no grammar for bash is installed");
    }
    if (text.n > COMMAND_MAX_BYTES) {
        return error_set(err, PI_LIMIT, "the command is too long to be understood");
    }
    enum pi_status status = PI_OK;
    if (has_odd_bytes(text)) {
        return tell(&p, err);
    }
    status = parse_text(&tree, bash, text, cancel, err);
    if (status) {
        return status;
    }
    if (!visit_tree(&p, ts_tree_root_node(tree))) {
        status = tell(&p, err);
        command_list_finish(out);
    }
    ts_tree_delete(tree);
    return status;
}
