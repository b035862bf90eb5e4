#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"
#include "edit_match.h"

/**
 * Words for the model about what it looked for and what stands in the file.
 */

/**
 * Appends sentences about a text that does not hold `old`: the closest lines with their
 * numbers, and in what they differ. Looks closely at EDIT_MISS_BYTES of the text only.
 */
void edit_miss_explain(struct buf *out, struct sv text, struct sv old);

enum { EDIT_MISS_BYTES = 4 * 1024 * 1024 };

/** Appends in what the place of a fuzzy match differs from `old`: "line 3 has U+201C
 * where oldText has \"". */
void edit_miss_approximate(struct buf *out, struct sv text,
                           const struct edit_match *match, struct sv old);

/** Appends a line as a JSON string, shortened. */
void edit_miss_quote(struct buf *out, struct sv line);
