#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "edit_change.h"
#include "sys/cancel.h"

/**
 * From the edits of a call to the changes of a text: all edits are looked up in the same
 * text, and either all of them apply or none.
 */

struct edit_request {
    struct sv old_text, new_text;
};

/** Zeroed = empty. */
struct edit_plan {
    struct edit_changes changes; // never empty after success
    struct buf notes;            // for the model: what was overlooked to find the places
    struct buf problem;          // for the model: why nothing can be changed
};

void edit_plan_finish(struct edit_plan *p);

/**
 * shown names the file in messages. PI_OK; PI_INVALID when the edits do not fit the text:
 * then *problem says what is wrong and what to do; PI_ABORTED, PI_NOMEM. Pure but for the
 * look at cancel.
 */
enum pi_status edit_plan_make(struct edit_plan *out, struct sv text, const char *shown,
                              const struct edit_request *edits, size_t len,
                              const struct cancel *cancel,
                              struct pi_error *err) NODISCARD;
