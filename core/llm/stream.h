#pragma once

#include "llm/provider.h"
#include "llm/wire.h"

/**
 * Starts an answer in the given wire format; provider_http does so in the one that the
 * model's API names. request->http must be set. Errors as struct provider's open.
 */
enum pi_status stream_open_wire(struct llm_stream **out, const struct wire *wire,
                                const struct model *model,
                                const struct llm_request *request, struct pi_error *err);
