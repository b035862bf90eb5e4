#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Memory for the image library. Each thread may hold so much at once, by default
 * PICTURE_MEMORY_MAX: files lie about what they unpack to.
 */
void picture_set_limit(size_t bytes);
void *picture_alloc(size_t n);
void *picture_realloc(void *old, size_t n);
void picture_free(void *old);

/**
 * Memory for writing a PNG, which goes on without asking whether it got some: all of it
 * is set aside first. False when that fails, or when this thread writes already.
 */
bool picture_arena_begin(size_t bytes);
void *picture_arena_alloc(size_t n);
void *picture_arena_realloc(void *old, size_t old_n, size_t n);
void picture_arena_end(void);
