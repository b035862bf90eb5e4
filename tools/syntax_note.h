#pragma once

#include "base/buf.h"
#include "host/host.h"
#include "tool/tool.h"

/** A change that was made. */
struct syntax_note {
    const struct tool_call *call;
    struct sv before;                  // the whole text
    bool is_new;                       // there was no file
    const struct host_change *changes; // as they ended up
    size_t len;
};

/**
 * Appends to a tool's result what the change broke in the syntax of the file, if anything
 * (syntax/check.h).
 */
void syntax_note_add(struct buf *out, const struct syntax_note *note);
