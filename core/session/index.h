#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * The tree of a session's entries: for each its place in the file, its kind and its
 * parent; nothing of its content. Entries stand in the order of the file, and a parent
 * always stands before its children, so no walk to the root can go round in circles. A
 * zeroed struct is empty.
 *
 * An entry that a child names and that is not there is *lost*: it gets a place without
 * content, between the child and the entry before it in the file.
 */

enum entry_type {
    ENTRY_LOST, // no content: damaged, or missing altogether
    ENTRY_MESSAGE,
    ENTRY_MODEL_CHANGE,
    ENTRY_THINKING_LEVEL_CHANGE,
    ENTRY_COMPACTION,
    ENTRY_BRANCH_SUMMARY,
    ENTRY_CUSTOM_MESSAGE,
    ENTRY_SESSION_INFO,
    ENTRY_OTHER, // stays in the file, means nothing to us
};

/** The type of a name as it stands in the file; ENTRY_OTHER for unknown ones. */
enum entry_type entry_type_of(struct sv name);

/** The name that is written; NULL for lost and other entries. Static. */
const char *entry_type_name(enum entry_type type);

enum { INDEX_NONE = -1 };

struct index_entry {
    uint64_t offset;
    int32_t parent; // position or INDEX_NONE
    uint32_t id_at; // in ids, NUL-terminated; "" = none
    uint8_t type;   // enum entry_type
};

struct index {
    struct index_entry *entries;
    size_t len, cap;
    struct buf ids;
    uint32_t *slots; // hash table of positions + 1; 0 = free
    size_t slots_len;
};

void index_finish(struct index *x);

/** What is to be added. */
struct index_new {
    enum entry_type type;
    uint64_t offset;
    struct sv id;     // n = 0: none
    struct sv parent; // n = 0: the root, or as follow says
    bool follow;      // the parent is the entry before it in the file
};

/** Makes room, so that the next index_add with ids of at most id_len bytes succeeds. */
bool index_reserve(struct index *x, size_t id_len) NODISCARD;

/** Appends; its position or INDEX_NONE without memory (then nothing was added). */
int32_t index_add(struct index *x, const struct index_new *entry) NODISCARD;

/** The position of the last entry with this id, INDEX_NONE when there is none. */
int32_t index_find(const struct index *x, struct sv id);

/** "" = it has none; lives until the next change. */
const char *index_id(const struct index *x, int32_t at);

/** The entry itself when it has content, else the nearest such ancestor. */
int32_t index_readable(const struct index *x, int32_t at);
