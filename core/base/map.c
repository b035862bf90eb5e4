#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Open addressing with linear probing. cap is a power of two and at most 3/4 are used, so
// that a probe always meets an empty entry (value NULL).
struct map_entry {
    char *key;
    size_t key_len;
    uint64_t hash;
    void *value;
};

enum { MAP_FIRST_CAP = 16 };

// FNV-1a; the last step spreads the high bits to the low ones, which choose the place.
static uint64_t hash_of(struct sv key)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < key.n; i++) {
        h = (h ^ (unsigned char)key.p[i]) * 0x100000001b3u;
    }
    return h ^ (h >> 32);
}

// The entry that holds key, else the empty one where it would go. cap must not be 0.
static struct map_entry *find(const struct map *m, struct sv key, uint64_t hash)
{
    size_t at = (size_t)hash & (m->cap - 1);
    for (;;) {
        struct map_entry *e = &m->entries[at];
        if (!e->value || (e->hash == hash && sv_eq(sv_make(e->key, e->key_len), key))) {
            return e;
        }
        at = (at + 1) & (m->cap - 1);
    }
}

void map_finish(struct map *m)
{
    if (!m) {
        return;
    }
    for (size_t i = 0; i < m->cap; i++) {
        free(m->entries[i].key);
    }
    free(m->entries);
    *m = (struct map){0};
}

void *map_get(const struct map *m, struct sv key)
{
    return m->len ? find(m, key, hash_of(key))->value : NULL;
}

static bool grow(struct map *m)
{
    size_t cap = m->cap ? m->cap * 2 : MAP_FIRST_CAP;
    struct map grown = {.len = m->len, .cap = cap};
    grown.entries = calloc(cap, sizeof *grown.entries);
    if (!grown.entries) {
        return false;
    }
    for (size_t i = 0; i < m->cap; i++) {
        const struct map_entry *e = &m->entries[i];
        if (e->value) {
            *find(&grown, sv_make(e->key, e->key_len), e->hash) = *e;
        }
    }
    free(m->entries);
    *m = grown;
    return true;
}

bool map_set(struct map *m, struct sv key, void *value)
{
    if (m->len >= m->cap / 4 * 3 && !grow(m)) {
        return false;
    }
    uint64_t hash = hash_of(key);
    struct map_entry *e = find(m, key, hash);
    if (e->value) {
        e->value = value;
        return true;
    }
    char *copy = malloc(key.n + 1);
    if (!copy) {
        return false;
    }
    if (key.n) {
        memcpy(copy, key.p, key.n);
    }
    copy[key.n] = '\0';
    *e = (struct map_entry){.key = copy, .key_len = key.n, .hash = hash, .value = value};
    m->len++;
    return true;
}

// Moves later entries of the same run into the hole, so that no probe stops too early.
static void close_hole(struct map *m, size_t hole)
{
    size_t mask = m->cap - 1;
    for (size_t at = (hole + 1) & mask; m->entries[at].value; at = (at + 1) & mask) {
        size_t home = (size_t)m->entries[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            m->entries[hole] = m->entries[at];
            hole = at;
        }
    }
    m->entries[hole] = (struct map_entry){0};
}

void *map_remove(struct map *m, struct sv key)
{
    if (m->len == 0) {
        return NULL;
    }
    struct map_entry *e = find(m, key, hash_of(key));
    void *value = e->value;
    if (value) {
        free(e->key);
        close_hole(m, (size_t)(e - m->entries));
        m->len--;
    }
    return value;
}

bool map_next(const struct map *m, size_t *at, struct sv *key, void **value)
{
    while (*at < m->cap) {
        const struct map_entry *e = &m->entries[(*at)++];
        if (e->value) {
            *key = sv_make(e->key, e->key_len);
            *value = e->value;
            return true;
        }
    }
    return false;
}
