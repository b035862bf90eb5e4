#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "sys/file.h"

/**
 * What the model last saw of each file, to refuse a `write` that would overwrite what it
 * never saw. One per conversation; thread-safe (its lock is held for look-ups only). Keys
 * are host target keys; paths serve to look at the disk again.
 */
struct file_memory;

enum pi_status file_memory_create(struct file_memory **out,
                                  struct pi_error *err) NODISCARD;
void file_memory_destroy(struct file_memory *m);

enum memory_verdict {
    MEMORY_UNKNOWN, // never seen: may be written
    MEMORY_SAME,    // as last seen
    MEMORY_CHANGED, // changed since, by somebody else
    MEMORY_COMMAND, // changed since, by the agent's own command
};

/**
 * The model saw or made this state. Text from a buffer is remembered by hash, stamp NULL;
 * hash 0 = not known. Without memory the file counts as never seen.
 */
void file_memory_saw(struct file_memory *m, const char *key, const char *path,
                     const struct file_stamp *stamp, uint64_t hash);

/**
 * Compares the present state with what was last seen. A difference of the stamp alone is
 * checked by hash before it counts. After MEMORY_CHANGED was told once, the new state
 * counts as seen (a write is refused once).
 */
enum memory_verdict file_memory_check(struct file_memory *m, const char *key,
                                      const struct file_stamp *stamp, uint64_t hash);

/** The same question, asked without changing what counts as seen. */
enum memory_verdict file_memory_peek(struct file_memory *m, const char *key,
                                     const struct file_stamp *stamp, uint64_t hash);

/**
 * After a command: files whose stamp differs now count as changed by the command, until
 * somebody changes them again. Blocks in stat.
 */
void file_memory_after_command(struct file_memory *m);

/** FNV-1a, for `hash`. Feed pieces with the previous result; start with FILE_HASH_START.
 */
#define FILE_HASH_START 14695981039346656037ULL
uint64_t file_hash(uint64_t hash, const void *bytes, size_t n);
