#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "sys/guard.h"
#include "sys/process.h"

/** A running pi-guard as the agent sees it. */
struct guard_handle {
    int control; // the agent's end of the channel; -1 = none
    int pidfd;   // -1 on kernels without
    pid_t pid;
};

/**
 * Starts pi-guard with the request. *output gets the read end of the command's output
 * pipe, non-blocking. Errors as process_run().
 */
enum pi_status guard_start(struct guard_handle *guard, int *output,
                           const struct process_request *request,
                           struct pi_error *err) NODISCARD;

/** Sends an order; one that cannot be sent meets a guard that is gone. */
void guard_order(const struct guard_handle *guard, enum guard_order_type type,
                 int grace_ms);

/** Whether the guard has closed its end within wait_ms, which it does only by ending. */
bool guard_gone(const struct guard_handle *guard, int wait_ms);

void guard_kill(const struct guard_handle *guard);

/** Waits (half a second at most) for a guard that is about to end; closes the handle. */
void guard_reap(struct guard_handle *guard);

/** Closes the handle of a guard that goes on, on its own. */
void guard_let_go(struct guard_handle *guard);

/** Takes the handle over; false without memory. */
bool process_jobs_add(struct process_jobs *jobs,
                      const struct guard_handle *guard) NODISCARD;
