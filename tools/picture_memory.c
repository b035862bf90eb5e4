#include "picture_memory.h"

#include <stdlib.h>
#include <string.h>

#include "picture.h"

// In front of each block stands its size, with room to keep the block aligned.
enum { HEAD = 16 };

static _Thread_local size_t in_use;
static _Thread_local size_t limit = PICTURE_MEMORY_MAX;

static _Thread_local struct {
    char *memory;
    size_t used, size;
} arena;

static size_t size_of(const void *block)
{
    size_t n = 0;
    if (block) {
        memcpy(&n, (const char *)block - HEAD, sizeof n);
    }
    return n;
}

void picture_set_limit(size_t bytes)
{
    limit = bytes < PICTURE_MEMORY_MAX ? bytes : PICTURE_MEMORY_MAX;
}

void *picture_realloc(void *old, size_t n)
{
    size_t others = in_use - size_of(old);
    if (others > limit || n > limit - others) {
        return NULL;
    }
    char *block = realloc(old ? (char *)old - HEAD : NULL, n + HEAD);
    if (!block) {
        return NULL;
    }
    memcpy(block, &n, sizeof n);
    in_use = others + n;
    return block + HEAD;
}

void *picture_alloc(size_t n)
{
    return picture_realloc(NULL, n);
}

void picture_free(void *old)
{
    if (old) {
        in_use -= size_of(old);
        free((char *)old - HEAD);
    }
}

bool picture_arena_begin(size_t bytes)
{
    if (arena.memory) {
        return false;
    }
    arena.memory = malloc(bytes);
    arena.used = 0;
    arena.size = bytes;
    return arena.memory != NULL;
}

void *picture_arena_alloc(size_t n)
{
    size_t room = (n + HEAD - 1) / HEAD * HEAD;
    if (room < n || room > arena.size - arena.used) {
        return NULL;
    }
    char *block = arena.memory + arena.used;
    arena.used += room;
    return block;
}

void *picture_arena_realloc(void *old, size_t old_n, size_t n)
{
    void *block = picture_arena_alloc(n);
    if (block && old) {
        memcpy(block, old, old_n < n ? old_n : n);
    }
    return block;
}

void picture_arena_end(void)
{
    free(arena.memory);
    arena.memory = NULL;
}
