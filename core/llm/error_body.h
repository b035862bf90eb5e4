#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * What a server says in the body of an error. Every server has its own shape: an object
 * `error`, a bare string, `detail`, `message`, all of that in an array, text, a page of
 * HTML, nothing at all. A zeroed struct is empty.
 */
struct error_body {
    struct buf words;       // for people, on one line and cut; "" = the body says nothing
    struct buf kind;        // types and codes, a space between them; "" = none
    int status;             // an HTTP status among its codes, 0 = none
    int64_t retry_after_ms; // what the words ask for; 0 = nothing
};

void error_body_finish(struct error_body *b);

/** Reads any body. Without memory words or kind have failed. */
void error_body_read(struct error_body *out, struct sv body);

/** The same for a tree. */
void error_body_read_json(struct error_body *out, const struct json *body);

/** Whether a tree that came as a success is an error. */
bool error_body_is_error(const struct json *body);
