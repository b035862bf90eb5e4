#pragma once

#include "syntax/command.h"
#include "syntax/parse.h"

/** Inside of core/syntax/command*.c. */

struct command_parser {
    struct command_list *out;
    struct sv text;
    size_t pipelines; // numbers given so far
    unsigned depth;
    int dashes;  // words "-" that the grammar left out and that are not in the list yet
    bool failed; // not understood, or no memory
    bool nomem;
    size_t where; // byte at which it was not understood
};

/** Where in the text the walk is. */
struct command_place {
    size_t scope;
    size_t pipeline;
    size_t *position; // in the pipeline, of the next command
};

// Reaching the n-th child of a node takes n steps.
enum { COMMAND_CHILDREN_MAX = 2000 };

// ---- command_list.c: the list that is made

/** Remembers the first failure. Returns false, for `return command_fail(...)`. */
bool command_fail(struct command_parser *p, size_t where);

bool command_fail_at(struct command_parser *p, TSNode node);
bool command_no_memory(struct command_parser *p);

/** *out: the index of the new one. */
bool command_add_scope(struct command_parser *p, size_t *out,
                       enum command_scope_kind kind, size_t parent);
bool command_add(struct command_parser *p, size_t *out, TSNode node,
                 struct command_place at);

/** Takes the word over, also on failure. */
bool command_add_word(struct command_parser *p, size_t command,
                      struct command_word *word);

// ---- command_simple.c: what a simple command consists of

bool command_visit_word(struct command_parser *p, TSNode node, size_t command,
                        struct command_place at);
bool command_visit_assignment(struct command_parser *p, TSNode node, size_t command,
                              struct command_place at);
bool command_is_redirect(TSNode node);
bool command_visit_redirect(struct command_parser *p, TSNode node, size_t command,
                            struct command_place at);

/** All children of a node. */
bool command_visit_parts(struct command_parser *p, TSNode node, size_t command,
                         struct command_place at);

/** The first word must be one that bash takes for the name of a command, too. */
bool command_check_name(struct command_parser *p, size_t command);

/**
 * Between the parts of a simple command no line may end. *dash, which may be NULL, gets
 * the place of a "-" before a here-document, which is no node; else it stays.
 */
bool command_check_gaps(struct command_parser *p, TSNode node, size_t *dash);

bool command_is_reserved(struct sv word);

// ---- command.c: statements

bool command_visit_children(struct command_parser *p, TSNode node,
                            struct command_place at);

/** All substitutions below a node, whatever they stand in. */
bool command_visit_expansions(struct command_parser *p, TSNode node,
                              struct command_place at);

// ---- command_word.c

/** Expansions: nodes that stand for a value that is not known. */
bool command_is_expansion(TSNode node);

/**
 * Reads the word of a node byte by byte, as bash does, and fills *out (to be freed with
 * command_word_finish). from: where it starts, at or behind the start of the node.
 */
bool command_word_read(struct command_parser *p, struct command_word *out, TSNode node,
                       size_t from);

void command_word_finish(struct command_word *w);

// ---- command_check.c

/**
 * Whether the leaves of the tree are what bash sees: nothing but blanks between them, no
 * substitution hidden in them, comments and here-documents that end where bash ends them.
 */
bool command_check_tree(struct command_parser *p, TSNode root);

/** A "-" between blanks. */
bool command_is_dash_gap(struct sv text, size_t from, size_t to);

/** Nothing but blanks and joined lines in [from, to): no end of a command. */
bool command_is_gap(struct sv text, size_t from, size_t to, bool newlines);

/** Whether bash takes "((...))" or "$((...))" for arithmetic and not for a subshell. */
bool command_is_arithmetic(struct sv text);

/** A byte that ends a word. */
bool command_is_meta(char c);
