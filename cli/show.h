#pragma once

#include "base/buf.h"
#include "base/sv.h"

/**
 * Text of a model, a file or a command made fit for a terminal: nothing in it can move
 * the cursor, change the terminal or hide a part of itself. Control characters but LF and
 * TAB, and characters that are invisible or turn the writing direction, become escapes
 * such as \x1b and \u202e.
 */
void show_text(struct buf *b, struct sv text);

/** The same on one line (line breaks and TABs become blanks), at most `columns` wide, cut
 * with "…". */
void show_line(struct buf *b, struct sv text, size_t columns);
