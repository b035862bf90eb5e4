#include "session/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { SLOTS_FIRST = 64, ENTRIES_MAX = INT32_MAX / 2 };

static const char *const names[] = {
    [ENTRY_MESSAGE] = "message",
    [ENTRY_MODEL_CHANGE] = "model_change",
    [ENTRY_THINKING_LEVEL_CHANGE] = "thinking_level_change",
    [ENTRY_COMPACTION] = "compaction",
    [ENTRY_BRANCH_SUMMARY] = "branch_summary",
    [ENTRY_CUSTOM_MESSAGE] = "custom_message",
    [ENTRY_SESSION_INFO] = "session_info",
    [ENTRY_OTHER] = NULL,
};

const char *entry_type_name(enum entry_type type)
{
    return names[type];
}

enum entry_type entry_type_of(struct sv name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i] && sv_eqs(name, names[i])) {
            return (enum entry_type)i;
        }
    }
    return ENTRY_OTHER;
}

void index_finish(struct index *x)
{
    if (!x) {
        return;
    }
    free(x->entries);
    buf_finish(&x->ids);
    free(x->slots);
    *x = (struct index){0};
}

static size_t hash(struct sv id)
{
    uint64_t h = 14695981039346656037U; // FNV-1a
    for (size_t i = 0; i < id.n; i++) {
        h = (h ^ (unsigned char)id.p[i]) * 1099511628211U;
    }
    return (size_t)(h ^ (h >> 32));
}

const char *index_id(const struct index *x, int32_t at)
{
    return x->ids.data + x->entries[at].id_at;
}

// The slot that holds id, or the free one where it would go.
static uint32_t *slot_of(const struct index *x, struct sv id)
{
    size_t mask = x->slots_len - 1;
    size_t i = hash(id) & mask;
    while (x->slots[i] && !sv_eqs(id, index_id(x, (int32_t)(x->slots[i] - 1)))) {
        i = (i + 1) & mask;
    }
    return &x->slots[i];
}

static bool grow_slots(struct index *x, size_t entries)
{
    size_t want = x->slots_len ? x->slots_len : SLOTS_FIRST;
    while (want < entries * 2) {
        want *= 2;
    }
    if (want == x->slots_len) {
        return true;
    }
    uint32_t *old = x->slots;
    uint32_t *fresh = calloc(want, sizeof *fresh);
    if (!fresh) {
        return false;
    }
    size_t old_len = x->slots_len;
    x->slots = fresh;
    x->slots_len = want;
    for (size_t i = 0; i < old_len; i++) {
        if (old[i]) {
            *slot_of(x, sv_of(index_id(x, (int32_t)(old[i] - 1)))) = old[i];
        }
    }
    free(old);
    return true;
}

// Room for two entries, since one may bring its lost parent along.
bool index_reserve(struct index *x, size_t id_len)
{
    size_t bytes = 2 * (id_len + 1) + 1;
    if (x->len + 2 > ENTRIES_MAX || id_len > UINT32_MAX / 4 ||
        x->ids.len + bytes > UINT32_MAX) {
        return false;
    }
    struct index_entry *grown =
        vec_grow(x->entries, &x->cap, x->len + 2, sizeof *x->entries);
    if (!grown) {
        return false;
    }
    x->entries = grown;
    if (!buf_reserve(&x->ids, bytes)) {
        x->ids.failed = false; // what is there is whole
        return false;
    }
    if (x->ids.len == 0) {
        buf_addc(&x->ids, '\0'); // the id of those that have none
    }
    return grow_slots(x, x->len + 2);
}

static int32_t put(struct index *x, const struct index_entry *entry, struct sv id)
{
    int32_t at = (int32_t)x->len;
    struct index_entry *e = &x->entries[x->len++];
    *e = *entry;
    e->id_at = 0;
    if (id.n > 0) {
        e->id_at = (uint32_t)x->ids.len;
        buf_addsv(&x->ids, id);
        buf_addc(&x->ids, '\0');
        *slot_of(x, id) = (uint32_t)at + 1;
    }
    return at;
}

static int32_t last(const struct index *x)
{
    return (int32_t)x->len - 1; // INDEX_NONE when empty
}

static int32_t parent_of(struct index *x, const struct index_new *entry)
{
    if (entry->parent.n == 0) {
        return entry->follow ? last(x) : INDEX_NONE;
    }
    int32_t found = index_find(x, entry->parent);
    if (found != INDEX_NONE) {
        return found;
    }
    struct index_entry lost = {.type = ENTRY_LOST, .parent = last(x)};
    return put(x, &lost, entry->parent);
}

int32_t index_add(struct index *x, const struct index_new *entry)
{
    size_t longer = entry->id.n > entry->parent.n ? entry->id.n : entry->parent.n;
    if (!index_reserve(x, longer)) {
        return INDEX_NONE;
    }
    struct index_entry e = {.offset = entry->offset, .type = (uint8_t)entry->type};
    e.parent = parent_of(x, entry);
    return put(x, &e, entry->id);
}

int32_t index_find(const struct index *x, struct sv id)
{
    if (x->slots_len == 0 || id.n == 0 || memchr(id.p, '\0', id.n)) {
        return INDEX_NONE;
    }
    return (int32_t)*slot_of(x, id) - 1;
}

int32_t index_readable(const struct index *x, int32_t at)
{
    while (at != INDEX_NONE && x->entries[at].type == ENTRY_LOST) {
        at = x->entries[at].parent;
    }
    return at;
}
