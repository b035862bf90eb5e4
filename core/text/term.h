#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"
#include "text/utf8.h"

/**
 * Turns what a program wrote for a terminal into plain text: UTF-8 is repaired across
 * pieces, escape sequences (ECMA-48: CSI, OSC, DCS and others) are removed, CR overwrites
 * the line, backspace steps back, the sequences that erase in the line or choose a column
 * do so, other control characters except TAB and LF are dropped. A column is one
 * character. A sequence that does not end is given up at LF or after TERM_SEQUENCE_MAX
 * bytes.
 *
 * Push function with fixed memory: the open line is held back up to TERM_LINE_MAX bytes;
 * of a longer one the older part is passed on and only the newer part can still be
 * overwritten. A zeroed struct is the start. Without memory `out` has failed.
 */
enum { TERM_LINE_MAX = 16 * 1024, TERM_SEQUENCE_MAX = 4096 };

struct term {
    struct utf8_stream utf8;
    struct buf line; // the open line as it looks now
    size_t column;   // byte offset in line where the next character goes
    unsigned char state;
    bool csi_plain;      // the CSI sequence has nothing but one number
    unsigned csi_number; // this number
    size_t sequence_len; // bytes of the open sequence so far
    struct buf scratch;
};

/** Feeds a piece; appends the finished lines (with LF) to out. */
void term_feed(struct term *t, struct buf *out, struct sv piece);

/** Appends the open line as it looks now without ending it (for live display). */
void term_peek(const struct term *t, struct buf *out);

/** End of input: appends what is left, without LF. t is at the start again. */
void term_end(struct term *t, struct buf *out);

/** Frees the memory; t is at the start again. Accepts NULL. */
void term_finish(struct term *t);
