#pragma once

#include <emacs-module.h>

#include "pi.h"

/**
 * The way from the agent's threads to Emacs: one byte into a pipe process of Emacs says
 * that there is something to drain, and nothing else. The core calls for one wake-up and
 * then waits for the drain, so at most one byte is under way.
 */
struct wake {
    int fd; // -1 = closed
};

/**
 * Opens the writing end of a pipe process. Emacs hands it out without FD_CLOEXEC and
 * blocking; both are put right here. False with a signal in env.
 */
bool wake_open(struct wake *w, emacs_env *env, emacs_value process);

/** Writes to another process from now on, while other threads may ring. */
bool wake_reopen(struct wake *w, emacs_env *env, emacs_value process);

void wake_close(struct wake *w);

/** The function for pi_agent_options.wake; data is a struct wake. Any thread. */
void wake_ring(void *data);
