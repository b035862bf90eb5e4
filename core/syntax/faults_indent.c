#include "syntax/faults.h"

#include <string.h>

// Python: its grammar takes a block without lines, and lines at odd depths.

static bool is_clause(TSNode node)
{
    static const char *const clauses[] = {"elif_clause", "else_clause", "except_clause",
                                          "except_group_clause", "finally_clause"};
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        if (parse_is(node, clauses[i])) {
            return true;
        }
    }
    return false;
}

static bool is_statement(TSNode node)
{
    return ts_node_is_named(node) && !parse_is(node, "comment");
}

static void check_block(struct faults *out, TSNode owner, TSNode block, struct sv text)
{
    bool known = false, empty = true;
    size_t wanted = 0;
    TSTreeCursor cursor = ts_tree_cursor_new(block);
    for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
         more = ts_tree_cursor_goto_next_sibling(&cursor)) {
        TSNode child = ts_tree_cursor_current_node(&cursor);
        bool first;
        if (!is_statement(child)) {
            continue;
        }
        empty = false;
        size_t indent = faults_indent(text, ts_node_start_byte(child), &first);
        if (first && known && indent != wanted) {
            faults_add(out, FAULT_INDENT, child, "");
        }
        // At the top there is none.
        if (!known && (first || parse_is(block, "module"))) {
            known = true;
            wanted = parse_is(block, "module") ? 0 : indent;
            if (first && indent != wanted) {
                faults_add(out, FAULT_INDENT, child, "");
            }
        }
    }
    ts_tree_cursor_delete(&cursor);
    if (empty && parse_is(block, "block") && !ts_node_is_null(owner)) {
        faults_add(out, FAULT_NO_BLOCK, owner, "");
    }
}

static void check_clause(struct faults *out, TSNode owner, TSNode clause, struct sv text)
{
    bool first, owner_first;
    if (ts_node_is_null(owner)) {
        return;
    }
    size_t indent = faults_indent(text, ts_node_start_byte(clause), &first);
    size_t wanted = faults_indent(text, ts_node_start_byte(owner), &owner_first);
    if (first && owner_first && indent != wanted) {
        faults_add(out, FAULT_INDENT, clause, "");
    }
}

void faults_indentation(struct faults *out, TSNode root, struct sv text)
{
    struct parse_walk w = parse_walk_start(root);
    TSNode node;
    while (parse_walk_next(&w, true, &node)) {
        if (parse_is(node, "block") || parse_is(node, "module")) {
            check_block(out, parse_walk_parent(&w), node, text);
        } else if (is_clause(node)) {
            check_clause(out, parse_walk_parent(&w), node, text);
        }
    }
    parse_walk_finish(&w);
}
