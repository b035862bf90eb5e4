#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * Caps on what a tool shows the model. A line ends at LF; a final LF ends the last line
 * and starts no other.
 */
enum { TRUNCATE_MAX_LINES = 2000, TRUNCATE_MAX_BYTES = 50 * 1024 };

/**
 * What was kept. kept is a slice of the input, never longer than the byte limit; after a
 * cut, and where it would not fit, it lacks the final LF.
 */
struct truncation {
    struct sv kept;
    bool truncated;
    bool by_bytes; // else by lines
    size_t total_lines, total_bytes;
    size_t kept_lines;
    bool last_line_partial;        // tail: the kept text starts inside a line
    bool first_line_exceeds_limit; // head: not even one line fits; kept is empty
};

/** Keeps whole lines from the start, up to both limits. */
struct truncation truncate_head(struct sv text, size_t max_lines, size_t max_bytes);

/**
 * Keeps whole lines from the end, up to both limits; when the last line alone is too
 * long, its end from a character boundary on.
 */
struct truncation truncate_tail(struct sv text, size_t max_lines, size_t max_bytes);

/** The record for `details.truncation`, without the text. NULL without memory. SIZE_MAX
 * is no limit. */
struct json *truncation_json(const struct truncation *t, size_t max_lines,
                             size_t max_bytes);

/** Appends a size as the notices write it: 512B, 1.5KB, 2.0MB. */
void size_format(struct buf *b, unsigned long long bytes);
