#include "tool/change.h"

enum pi_status tool_change(struct host_applied *applied, struct tool_call *call,
                           const struct host_snapshot *snapshot,
                           const struct host_change *changes, size_t len,
                           struct pi_error *err)
{
    const struct tool_context *context = call->context;
    if (context->review) {
        const struct change_review *review = context->review;
        enum pi_status status =
            review->ask(review->data, call, snapshot, changes, len, err);
        if (status) {
            return status;
        }
    }
    struct host *host = context->host;
    return host->ops->apply(host, &call->plan.target, snapshot, changes, len, &call->hold,
                            applied, call->cancel, err);
}
