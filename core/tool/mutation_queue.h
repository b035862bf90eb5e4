#pragma once

#include "base/error.h"
#include "sys/cancel.h"

/**
 * One writer per real file, in the order of arrival; process-wide, so that two sessions
 * in one editor meet here. Thread-safe; entering never blocks, waiting does.
 */
struct mutation_ticket;

/** Takes the next place in the line for key (copied). */
enum pi_status mutation_enter(struct mutation_ticket **out, const char *key,
                              struct pi_error *err) NODISCARD;

/** Blocks until it is this ticket's turn. PI_ABORTED: still in the line; leave it. */
enum pi_status mutation_wait(struct mutation_ticket *t, struct cancel *cancel,
                             struct pi_error *err) NODISCARD;

/** Gives the place up, from any thread, and frees the ticket. Accepts NULL. */
void mutation_leave(struct mutation_ticket *t);
