#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "syntax/parse.h"

/** Inside of core/syntax: what of a tree is worth a row in an outline. */

struct outline_rule {
    const char *type; // of the node
    const char *kind; // for people and models
    /** Appends the name; false when the node is none of this kind after all. */
    bool (*name)(struct buf *out, TSNode node, struct sv text);
    unsigned min_lines; // shorter ones are left out
    bool header;        // only in headers
};

/** The rules of a language, ended by one without type; NULL when it has none. */
const struct outline_rule *outline_rules(const char *language);

/** Whether a node of this type is one thing with what it holds: an export, a template. */
bool outline_is_wrapper(const char *type);
