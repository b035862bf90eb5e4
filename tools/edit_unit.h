#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sv.h"
#include "text/fold.h"

/**
 * How strictly oldText is looked for. Each level sees a text as a row of units; two texts
 * match when their units are equal.
 */
enum edit_level {
    EDIT_EXACT,     // a unit is a byte
    EDIT_LINE_ENDS, // a unit is a byte; CRLF is one unit, equal to LF; a lone CR is a
                    // byte
    /**
     * A unit is a character as fold_char shows it; line ends as above; white space at the
     * end of a line is no unit. Indentation, case and blanks inside a line count. A byte
     * that is not UTF-8 equals only itself.
     */
    EDIT_FUZZY,
};

/** One unit and the bytes [start, end) it stands for. A character can give several. */
struct edit_unit {
    uint32_t code;
    size_t start, end;
    bool first, last; // of the units of these bytes
};

/** Reads the units of `text` from `at` up to `limit`; sees the text beyond the limit. */
struct edit_reader {
    struct sv text;
    size_t at, limit;
    enum edit_level level;
    // private
    size_t blank_end; // no line ends among the blanks before this
    uint32_t queue[FOLD_MAX];
    unsigned queued, taken;
    size_t start;
};

struct edit_reader edit_reader_make(struct sv text, size_t at, size_t limit,
                                    enum edit_level level);

/** The next unit; false at the limit. */
bool edit_reader_next(struct edit_reader *r, struct edit_unit *unit);

/** Length in bytes of the line end at `at` (LF 1, CRLF 2), 0 when there is none. */
size_t edit_line_end(struct sv text, size_t at);

/** Length in bytes of the character at `at`; 1 for a byte that is not UTF-8. */
size_t edit_char(struct sv text, size_t at);

/** Length in bytes of the white space at `at` within its line; n = number of characters,
 * may be NULL. */
size_t edit_blanks(struct sv text, size_t at, size_t *n);
