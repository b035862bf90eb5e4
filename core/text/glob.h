#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sv.h"

/**
 * Glob patterns on paths with "/": `*` and `?` do not cross a slash, `**` as a whole
 * component crosses any number of them, `[a-z]`, `[!a]` and `[^a]` are one byte or one
 * character, `\` quotes. Pure; no memory. Patterns and paths are bytes; `?` and classes
 * take one UTF-8 character, or one byte where the text is no UTF-8.
 */

enum glob_flags {
    GLOB_IGNORE_CASE = 1, // ASCII letters
    GLOB_BRACES = 2,      // {a,b} alternatives, nested
};

/** Whether the whole path matches. A pattern that is malformed ("[a") matches itself
 * literally. */
bool glob_match(struct sv pattern, struct sv path, unsigned flags);
