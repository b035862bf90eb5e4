#pragma once

#include <stddef.h>

#include "base/json.h"
#include "base/sv.h"

/**
 * The line (from 1) where a node of root begins in the text that root was parsed from,
 * with json_parse or json_parse_relaxed, unchanged since then. 1 when the node is not in
 * root, or without memory. O(text): for messages about mistakes.
 */
size_t json_line(struct sv text, const struct json *root, const struct json *node);
