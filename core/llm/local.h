#pragma once

#include "llm/models.h"
#include "net/http.h"
#include "sys/cancel.h"

/**
 * Asks the servers on this machine, and those that models.json names without models, what
 * they serve. Blocks: some milliseconds as a rule, a second or two for a server that does
 * not answer.
 */
struct local_options {
    struct http *http;
    struct cancel *cancel;             // may be NULL
    const struct model_provider *only; // NULL = all that are to be asked
    struct buf *answered;              // gets the name of each that answered, one a line
};

/** Adds what they say to the table. A server that is not there is no error. PI_NOMEM,
 * PI_ABORTED. */
enum pi_status local_discover(struct models *t, const struct local_options *options,
                              struct pi_error *err) NODISCARD;
