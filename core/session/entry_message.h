#pragma once

#include "base/error.h"
#include "base/json.h"
#include "llm/llm.h"

/**
 * What an entry of a session means to the model: a message for the transcript, or *out
 * NULL when nothing. PI_INVALID: it is one that should mean something and cannot be read.
 */
enum pi_status entry_message(struct message **out, const struct json *entry,
                             struct pi_error *err) NODISCARD;
