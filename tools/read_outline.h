#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "read_text.h"
#include "tool/tool.h"

/**
 * The outline that comes with a long file, or in place of its text. It needs the whole
 * text, so that passes through here on its way to the window of lines and is kept while
 * it is short and of a known language. A zeroed struct keeps nothing.
 */
struct read_outline {
    bool asked;       // by the model
    bool page;        // some lines were asked for, too
    bool keep;        // the text is of interest, so far
    bool large;       // it was, until it became too long
    struct buf whole; // the text from its start on
    struct buf rows;
};

/** first: the first line of the window. */
struct read_outline read_outline_begin(const struct tool_call *call, uint64_t first);

/** start: the first bytes of the file. */
void read_outline_start(struct read_outline *o, const char *path, struct sv start);

void read_outline_feed(struct read_outline *o, struct sv piece);

/** Fills the outline's part of *text, whose window is complete; the rows stay in o. */
void read_outline_end(struct read_outline *o, struct read_text *text,
                      const struct tool_call *call);

void read_outline_finish(struct read_outline *o);
