#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * The two halves of validate_arguments: bending a value towards a schema, and saying what
 * still does not fit.
 */

/**
 * Converts *value in place where the wish is unambiguous (see validate.h); the node
 * itself may be replaced. False without memory.
 */
bool schema_convert(struct json **value, const struct json *schema) NODISCARD;

/** Where a value stands in the arguments; the outermost has parent NULL and is not named.
 */
struct schema_path {
    const struct schema_path *parent;
    const char *key; // NULL: index counts
    size_t index;
};

/** Collects what does not fit, one line a problem. */
struct schema_problems {
    struct buf *text; // NULL: only count
    size_t count;
};

void schema_check(const struct json *value, const struct json *schema,
                  const struct schema_path *path, struct schema_problems *problems);
