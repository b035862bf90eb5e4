#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * Cuts a stream that arrives in pieces of any size into lines. Only LF ends a line; one
 * CR before it is dropped. A line longer than max bytes is not kept: it is reported once
 * and skipped up to its LF. A zeroed struct with max set is the start. Not thread-safe.
 */
struct framer {
    size_t max;      // of a line's bytes, LF not counted
    struct buf held; // the beginning of a line whose LF has not arrived
    bool given;      // held is the line that the last call returned
    bool skipping;   // inside a line that is too long
};

enum framer_result {
    FRAMER_MORE,     // *piece is used up, no line is complete
    FRAMER_LINE,     // *line is one line
    FRAMER_TOO_LONG, // a line had more than max bytes
    FRAMER_NOMEM,    // a line was lost for want of memory
};

/**
 * Takes bytes off *piece up to the end of the next line. *line lives until the next call
 * and as long as the piece's bytes. Call again until it says FRAMER_MORE.
 */
enum framer_result framer_next(struct framer *f, struct sv *piece, struct sv *line);

/** End of the stream: FRAMER_LINE for a last line without LF, else FRAMER_MORE. */
enum framer_result framer_end(struct framer *f, struct sv *line);

void framer_finish(struct framer *f);
