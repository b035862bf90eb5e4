#pragma once

#include "llm/model.h"
#include "llm/provider.h"

/** How much of a model's context window a request takes. */

/** Tokens at the least: a quarter of the bytes of text, and some for each image. */
struct window_estimate {
    int64_t system_prompt, tools, messages;
    int64_t total;
};

struct window_estimate window_estimate(const struct llm_request *request);

/** PI_LIMIT with the numbers and the ways to go on when the request cannot fit. */
enum pi_status window_check(const struct model *model, const struct llm_request *request,
                            struct pi_error *err);
