#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * Writes msgpack into a buffer and counts how deep it gets. Neovim 0.7 ends itself when
 * it is sent something 32 levels deep; here everything beyond 16 is a failure, and a
 * failed message is never sent.
 */

enum { PACK_DEPTH_MAX = 16 };

struct pack {
    struct buf *out; // failed when something went wrong
    unsigned base;   // levels around what is written here
    unsigned depth;
    size_t left[PACK_DEPTH_MAX]; // values to come of each container that is open
};

/** Writes to out (borrowed) what will stand inside `base` containers. */
void pack_init(struct pack *p, struct buf *out, unsigned base);

/** Opens a container of n values (a map of n pairs). */
void pack_array(struct pack *p, size_t n);
void pack_map(struct pack *p, size_t n);

void pack_text(struct pack *p, struct sv text);
void pack_number(struct pack *p, uint64_t number);
void pack_nil(struct pack *p);

/** Writes n values that were packed elsewhere with the right base. */
void pack_packed(struct pack *p, const struct buf *values, size_t n);
