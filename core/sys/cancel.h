#pragma once

#include <stdbool.h>

#include "base/error.h"

/**
 * A cancel token: set once, by anybody, and seen by every wait. A child is cancelled with
 * its parent. Reference-counted; thread-safe. Every blocking wait of a tool polls
 * cancel_fd().
 */
struct cancel;

/** A new token; parent may be NULL (the child holds a reference to it). */
enum pi_status cancel_create(struct cancel **out, struct cancel *parent,
                             struct pi_error *err) NODISCARD;

struct cancel *cancel_ref(struct cancel *c);
void cancel_unref(struct cancel *c); // accepts NULL

/** Sets the token and its children. Idempotent, does not block. */
void cancel_set(struct cancel *c);

/** The same with less patience: a running command gets 300 ms instead of 2 s to end. */
void cancel_set_urgent(struct cancel *c);

bool cancel_is_set(const struct cancel *c); // false for NULL
bool cancel_is_urgent(const struct cancel *c);

/** A descriptor that is readable once the token is set (it stays so); owned by the token.
 */
int cancel_fd(const struct cancel *c);

/** PI_ABORTED with the common text when set, else PI_OK. */
enum pi_status cancel_check(const struct cancel *c, struct pi_error *err);
