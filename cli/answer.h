#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "pi.h"

/** What came of a prompt, gathered from the events. A zeroed struct is the start. */
struct answer {
    struct buf text;    // the text blocks of the last message of the model, each with LF
    struct buf problem; // its error message
    bool failed;        // it ended with an error
    bool aborted;
    bool cut;     // it ended at the model's output limit
    bool calling; // it called tools, so an answer is still to come
    bool ended;   // the run is over
};

void answer_take(struct answer *a, const pi_event *event);

/** The exit code of the run. */
int answer_exit_code(const struct answer *a);

/** Appends what the user must know besides the text, "" when there is nothing. */
void answer_remarks(const struct answer *a, struct buf *b);

void answer_finish(struct answer *a);
