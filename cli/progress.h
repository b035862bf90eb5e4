#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/sv.h"
#include "out.h"

/**
 * One line a tool call on stderr: name, target, outcome, time. On a terminal the calls
 * that run stand in a live line below, which is taken away before anything else is
 * written there.
 */
struct progress {
    struct out *out;
    bool live;   // a terminal that understands escape sequences
    bool colour; // and the user does not object
    bool drawn;  // the live line is on the screen
    int64_t drawn_ms;
    struct progress_call *calls;
    size_t len, cap;
};

void progress_start(struct progress *p, const struct json *event);
void progress_output(struct progress *p, const char *id, struct sv text);
void progress_end(struct progress *p, const struct json *event);

/** Takes the live line off the screen; the next progress_draw puts it back. */
void progress_hide(struct progress *p);

/** Draws the live line again; ms until it should be drawn next, -1 = nothing runs. */
int progress_draw(struct progress *p);

/** A line of another kind, as "pi: text". */
void progress_note(struct progress *p, const char *text);

void progress_finish(struct progress *p);
