#pragma once

#include <stdbool.h>

#include "base/sv.h"

/**
 * What the index needs of an entry, read from the beginning of its line without parsing
 * the rest. Slices point into the text; p NULL = not there (or not a string).
 */
struct entry_head {
    struct sv type, id, parent, timestamp;
    bool parent_given; // there is a parentId, be it null
};

enum entry_head_result {
    ENTRY_HEAD_OK,
    ENTRY_HEAD_BAD,   // not the beginning of a JSON object
    ENTRY_HEAD_PARSE, // cannot be told from here: parse the whole line
};

/**
 * Reads text, the whole line or (cut) its beginning. Stops as soon as type, id and parent
 * are known, so OK says nothing about what follows them.
 */
enum entry_head_result entry_head_read(struct entry_head *out, struct sv text, bool cut);
