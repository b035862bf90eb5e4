#pragma once

#include <tree_sitter/api.h>

#include "base/error.h"
#include "base/sv.h"
#include "sys/cancel.h"

/** Inside of core/syntax: trees of texts, within limits. */

enum {
    PARSE_MAX_BYTES = 2 * 1024 * 1024, // larger texts are not parsed
    PARSE_BASE_MS = 150,               // time of the thread's own work for any text,
    PARSE_MS_PER_MIB = 50,             // and more for each MiB
};

/**
 * Parses text; the tree belongs to the caller (ts_tree_delete). PI_LIMIT: too large, or
 * the budget is used up; PI_ABORTED: cancel, which may be NULL, is set; PI_UNSUPPORTED:
 * the library does not take the grammar. The library ends the process when there is no
 * memory left, which is why large texts are refused. In Emacs it may take its memory by
 * Emacs' functions: they wrap malloc and are fit for threads as long as there is some.
 */
enum pi_status parse_text(TSTree **out, const TSLanguage *language, struct sv text,
                          const struct cancel *cancel, struct pi_error *err) NODISCARD;

/** A walk over all nodes, parents first, without recursion: trees may be deep. */
struct parse_walk {
    TSTreeCursor cursor;
    unsigned depth;
    bool started, ended;
};

struct parse_walk parse_walk_start(TSNode root);
void parse_walk_finish(struct parse_walk *w);

/** The next node; descend = whether the one given last is to be entered. */
bool parse_walk_next(struct parse_walk *w, bool descend, TSNode *node);

/**
 * The parent of the node given last, a null node for the root. ts_node_parent() is wrong
 * for nodes without bytes.
 */
TSNode parse_walk_parent(const struct parse_walk *w);

/** The bytes of a node. */
struct sv parse_node_text(TSNode node, struct sv text);

/** The child in a field, a null node when there is none. */
TSNode parse_field(TSNode node, const char *field);

bool parse_is(TSNode node, const char *type);
