#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/** Two sequences of numbers to compare; which elements are not in both goes to the
 * flags. */
struct myers {
    const uint32_t *a, *b;
    size_t a_len, b_len;
    bool *a_changed, *b_changed; // a_len and b_len flags, false at the start
};

/**
 * Finds a common subsequence: sets the flags of the elements that do not belong to it.
 * The longest one as long as the distance of two parts stays small; beyond that a good
 * one, so that the time is at most (a_len + b_len) * MYERS_COST_MAX steps.
 * False without memory.
 */
enum { MYERS_COST_MAX = 512 };
bool myers_compare(const struct myers *m) NODISCARD;
