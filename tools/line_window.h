#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * Cuts a window of lines out of a text that streams by, with memory for the window only.
 * Lines end at LF; a final LF ends the last line and starts no other.
 *
 * After the window lines are only counted, and only up to `ahead` bytes, so that a page
 * of a huge file does not cost the rest of the file. Set first, max_lines, max_bytes and
 * ahead in a zeroed struct; the rest is the state and the result.
 */
struct line_window {
    uint64_t first;     // 1-based number of the first line wanted
    uint64_t max_lines; // at least 1
    size_t max_bytes;   // of kept
    size_t ahead;       // bytes to look at after the window

    struct buf kept;     // the lines, with their LFs, as they are in the file
    uint64_t kept_lines; // the last one may lack its LF at the end of the text
    uint64_t lines;      // that were seen, an unfinished last one included
    uint64_t bytes;      // that were seen
    bool at_end;   // the text has ended: lines and bytes are those of the whole text
    bool by_bytes; // max_bytes ended the window
    uint64_t over_bytes; // length without LF of the line that did not fit, as far as seen

    size_t line_start; // where the open line starts in kept
    size_t looked;     // bytes after the window
    bool closed;       // the window is complete
    bool over_open;    // inside the line that did not fit
    bool line_open;    // the last byte seen was no LF
};

/** Takes the next piece; false when no more is needed (or memory ran out). */
bool line_window_feed(struct line_window *w, struct sv piece);

/** The text has ended. Call it only when line_window_feed asked for more to the last. */
void line_window_end(struct line_window *w);

void line_window_finish(struct line_window *w);
