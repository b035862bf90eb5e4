#pragma once

#include "tool/tool.h"

/** Asks somebody about a change before it is made. */
struct change_review {
    /**
     * On the call's thread; blocks until there is an answer. PI_OK: make the change.
     * PI_DENIED: the message is for the model. PI_ABORTED, PI_NOMEM.
     */
    enum pi_status (*ask)(void *data, const struct tool_call *call,
                          const struct host_snapshot *snapshot,
                          const struct host_change *changes, size_t len,
                          struct pi_error *err);
    void *data;
};

/**
 * Makes the changes in the call's target, as host_ops.apply does, after the review that
 * the context may have.
 */
enum pi_status tool_change(struct host_applied *applied, struct tool_call *call,
                           const struct host_snapshot *snapshot,
                           const struct host_change *changes, size_t len,
                           struct pi_error *err) NODISCARD;
