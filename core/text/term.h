#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"
#include "text/utf8.h"

/**
 * Turns what a program wrote for a terminal into plain text: UTF-8 is repaired across
 * pieces, escape sequences (ECMA-48: CSI, OSC, DCS and others) are removed, CR overwrites
 * the line, backspace steps back, control characters except TAB and LF are dropped.
 *
 * Push function with fixed memory: the open line is held back up to TERM_LINE_MAX bytes;
 * a longer one is passed on and only its newest part can still be overwritten. A zeroed
 * struct is the start.
 */
enum { TERM_LINE_MAX = 64 * 1024 };

struct term {
    struct utf8_stream utf8;
    struct buf line; // the open line as it looks now
    size_t column;   // byte offset in line where the next character goes
    unsigned char state;
    struct buf scratch;
};

/** Feeds a piece; appends the finished lines (with LF) to out. */
void term_feed(struct term *t, struct buf *out, struct sv piece);

/** Appends the open line as it looks now without ending it (for live display). */
void term_peek(const struct term *t, struct buf *out);

/** End of input: appends what is left. */
void term_end(struct term *t, struct buf *out);

void term_finish(struct term *t);
