#pragma once

#include "agent/queue.h"
#include "llm/provider.h"
#include "tool/registry.h"

/**
 * The transcript and what of it the model sees. Owned by the agent thread.
 */
struct context {
    struct message_queue transcript; // complete messages only, in order
    struct buf system_prompt;
};

void context_finish(struct context *c);

/** A request and the arrays behind it; borrows from context and registry. */
struct context_request {
    struct llm_request request;
    struct message **messages;
    struct tool_schema *tools;
};

/**
 * Builds the next request: answers that failed or were aborted are left out together with
 * the results of their calls. PI_NOMEM.
 */
enum pi_status context_build(struct context_request *out, const struct context *c,
                             const struct registry *registry,
                             struct pi_error *err) NODISCARD;

void context_request_finish(struct context_request *r);
