#pragma once

#include "llm/provider.h"

/**
 * How many tokens a request has, without asking anybody: what the server counted for the
 * last answer, and a guess for what came after it.
 */

/** About so many; text that is not English may have more. */
int64_t estimate_tokens(const struct llm_request *request);

/** Hardly more than this. */
int64_t estimate_at_most(const struct llm_request *request);
