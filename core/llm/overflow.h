#pragma once

#include <stdbool.h>

#include "base/sv.h"

/**
 * Whether an error of a server says that the request does not fit into the model's
 * context window. status: of the response, 0 when the error came inside a stream; words
 * and kind: as in struct error_body.
 */
bool overflow_is(int status, struct sv words, struct sv kind);
