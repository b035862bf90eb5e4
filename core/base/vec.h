#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * Growth for the plain arrays of the project: `T *items; size_t len, cap;`.
 *
 * Returns the (perhaps moved) array with room for `need` elements of `size` bytes and
 * raises *cap, or NULL without memory or on overflow; then the old array is unchanged and
 * still owned by the caller.
 */
static inline void *vec_grow(void *items, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap && items) {
        return items;
    }
    size_t want = *cap ? *cap : 8;
    while (want < need) {
        if (want > SIZE_MAX / 2) {
            return NULL;
        }
        want *= 2;
    }
    if (want > SIZE_MAX / size) {
        return NULL;
    }
    void *grown = realloc(items, want * size);
    if (grown) {
        *cap = want;
    }
    return grown;
}
