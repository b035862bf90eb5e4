#include "syntax/faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct bracket {
    TSNode node;
    char closer;
    size_t indent; // of its line
};

struct stack {
    struct bracket *items;
    size_t len, cap;
    TSNode opener, closer; // the first whose indentation tells that they do not belong
    bool has_opener, has_closer;
    unsigned skipped; // #if that are open in a branch that does not count
    struct faults *out;
    struct sv text;
};

static char closer_of(char c)
{
    return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '\0';
}

static void add_fault(struct stack *s, enum fault_kind kind, TSNode node, char c)
{
    char token[2] = {c, '\0'};
    faults_add(s->out, kind, node, token);
}

static char opener_of(char closer)
{
    return closer == ')' ? '(' : closer == ']' ? '[' : '{';
}

static void push(struct stack *s, TSNode node, char closer)
{
    struct bracket *grown = vec_grow(s->items, &s->cap, s->len + 1, sizeof *s->items);
    if (!grown) {
        s->out->failed = true;
        return;
    }
    bool first;
    size_t indent = faults_indent(s->text, ts_node_start_byte(node), &first);
    s->items = grown;
    s->items[s->len++] =
        (struct bracket){.node = node, .closer = closer, .indent = indent};
}

// A closer that begins its line should stand below the line of its opener.
static void compare_indent(struct stack *s, const struct bracket *opener, TSNode closer)
{
    bool first;
    size_t indent = faults_indent(s->text, ts_node_start_byte(closer), &first);
    if (!first || opener->closer != '}') {
        return;
    }
    if (indent < opener->indent && !s->has_opener) {
        s->has_opener = true;
        s->opener = opener->node;
    } else if (indent > opener->indent && !s->has_closer) {
        s->has_closer = true;
        s->closer = closer;
    }
}

static void pop(struct stack *s, TSNode node, char c)
{
    size_t at = s->len;
    while (at > 0 && s->items[at - 1].closer != c) {
        at--;
    }
    if (at == 0) {
        bool guessed = c == '}' && s->has_closer;
        add_fault(s, FAULT_UNOPENED, guessed ? s->closer : node, c);
        s->has_closer = false;
        return;
    }
    // Those above it were left open; the innermost is nearest to the fault.
    if (at < s->len) {
        const struct bracket *b = &s->items[s->len - 1];
        add_fault(s, FAULT_UNCLOSED, b->node, opener_of(b->closer));
    }
    compare_indent(s, &s->items[at - 1], node);
    s->len = at - 1;
}

static void take(struct stack *s, TSNode node)
{
    const char *type = ts_node_type(node);
    size_t n = strlen(type);
    if (n == 0) {
        return;
    }
    if (strspn(type, ")]}") == n) {
        for (size_t i = 0; i < n; i++) {
            pop(s, node, type[i]);
        }
        return;
    }
    // "${" and "#{" open one bracket, "$((" opens two.
    for (size_t i = strcspn(type, "([{"); i < n && closer_of(type[i]); i++) {
        push(s, node, closer_of(type[i]));
    }
}

static bool is_skipped(struct stack *s, TSNode leaf)
{
    struct sv text = parse_node_text(leaf, s->text);
    if (text.n > 0 && text.p[0] == '#') {
        faults_c_branch(&s->skipped, sv_from(text, 1));
    }
    return s->skipped > 0;
}

void faults_brackets(struct faults *out, TSNode root, struct sv text, bool c)
{
    struct stack s = {.out = out, .text = text};
    struct parse_walk w = parse_walk_start(root);
    TSNode node;
    while (parse_walk_next(&w, true, &node)) {
        if (ts_node_child_count(node) == 0 && !ts_node_is_missing(node) &&
            !(c && is_skipped(&s, node)) && !ts_node_is_named(node)) {
            take(&s, node);
        }
    }
    parse_walk_finish(&w);
    if (s.len > 0) {
        const struct bracket *b = &s.items[s.len - 1];
        bool guessed = s.has_opener && b->closer == '}';
        add_fault(&s, FAULT_UNCLOSED, guessed ? s.opener : b->node, opener_of(b->closer));
    }
    free(s.items);
}
