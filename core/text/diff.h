#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * Line differences. A line includes its LF; the last one may lack it. Line numbers are
 * 1-based.
 */

/** old lines [old_start, old_start+old_len) became new lines [new_start,
 * new_start+new_len). */
struct diff_hunk {
    size_t old_start, old_len;
    size_t new_start, new_len;
};

/** A zeroed struct is an empty diff. */
struct diff {
    struct diff_hunk *hunks; // ascending, not touching
    size_t len, cap;
};

/**
 * Compares two texts (linear-space Myers). Where they differ in more than about a
 * thousand lines in a row the search takes short cuts, so that time stays near linear;
 * the result is always right, perhaps not minimal.
 */
enum pi_status diff_lines(struct diff *out, struct sv before, struct sv after,
                          struct pi_error *err) NODISCARD;

void diff_finish(struct diff *d);

/**
 * A window of two large texts that differ only inside: `before` and `after` start at line
 * `first_line` of the whole file on both sides.
 */
struct diff_window {
    struct sv before, after;
    size_t old_first_line; // 1-based number of the window's first line, old and new side
    size_t new_first_line;
};

/**
 * Appends a unified patch that `patch -p1` applies: the headers "--- a/path" and "+++
 * b/path" once, then the hunks of all windows (ascending, disjoint); nothing when nothing
 * differs. context lines are taken from inside the windows only, so a window must bring
 * them along. A last line without LF gets the marker that patch(1) knows; only the last
 * window may have one. A path with control characters, quotes, backslashes, blanks at its
 * ends or bytes that are not UTF-8 is written as a C string, one with blanks is followed
 * by a TAB, as Git does.
 */
enum pi_status diff_write_patch(struct buf *out, const char *path,
                                const struct diff_window *windows, size_t len,
                                size_t context, struct pi_error *err) NODISCARD;

/**
 * Appends the rows that users see: sign (+, - or blank), line number right-aligned to
 * the width of the largest number of either side (new number on + rows, old number on
 * others), a blank, the line without its LF or CRLF; rows of " ..." for skipped lines.
 * Rows are separated by LF, the last one has none. Nothing when nothing differs.
 * last_old_line: number of lines of the whole old file.
 */
enum pi_status diff_write_rows(struct buf *out, const struct diff_window *windows,
                               size_t len, size_t context, size_t last_old_line,
                               struct pi_error *err) NODISCARD;
