#pragma once

#include <stdint.h>

/** Numbers for tests: the same ones in every run. */
struct random {
    uint64_t state;
};

/** A number below n. */
static inline uint32_t random_below(struct random *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33) % n;
}
