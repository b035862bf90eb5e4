#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/sv.h"

/** A hash map from byte strings (copied) to pointers (borrowed). A zeroed struct is
 * empty. */
struct map {
    struct map_entry *entries;
    size_t len;
    size_t cap;
};

void map_finish(struct map *m);

/** The value of key, NULL when absent. */
void *map_get(const struct map *m, struct sv key);

/** Sets or replaces; false without memory. value must not be NULL. */
bool map_set(struct map *m, struct sv key, void *value) NODISCARD;

/** Removes key and returns its value, NULL when absent. */
void *map_remove(struct map *m, struct sv key);

/**
 * Walks the entries in no particular order: start with *at = 0; false at the end. The map
 * must not change meanwhile.
 */
bool map_next(const struct map *m, size_t *at, struct sv *key, void **value);
