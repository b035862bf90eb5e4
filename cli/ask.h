#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "pi.h"

/**
 * Questions about permissions on the controlling terminal, one after the other. What was
 * typed before a question appeared does not answer it.
 */
struct ask {
    int fd;     // of /dev/tty, -1 = there is none: every question is denied
    bool shown; // the first question is on the screen
    bool open;  // the cursor stands behind it
    struct buf typed;
    struct ask_question *questions;
    size_t len, cap;
};

/** Opens the terminal; false when there is none. */
bool ask_open(struct ask *a);

/** A permission_request event. */
void ask_add(struct ask *a, pi_agent *agent, const struct json *event);

/** A permission_end event: the question needs no answer any more. */
void ask_withdraw(struct ask *a, const struct json *event);

/** The terminal has input. */
void ask_read(struct ask *a, pi_agent *agent);

/** Whether a question waits for the user. */
bool ask_waits(const struct ask *a);

/** Shows the first question if it is not on the screen. */
void ask_show(struct ask *a);

/** Moves the cursor off the line of a question, so that something else can be shown. */
void ask_break(struct ask *a);

void ask_finish(struct ask *a);
