#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * An append-only file of JSON lines: the bytes of a session, without a thought for what
 * they mean. One write for each record; a torn end is healed before the next one; a
 * record that could not be written whole is taken back. One writer at a time: a second
 * opener reads only.
 *
 * The lock is flock(2) on the file itself. It belongs to the open file, so the kernel
 * drops it with the process however that ends, two openers in one process exclude each
 * other, and NFS carries it to other machines. Where the file system knows no locks there
 * is none.
 *
 * Owned by one thread. May block in the file system.
 */
struct journal;

/** Somebody else writes to this file. */
struct journal_owner {
    bool other; // we read only
    long pid;   // of the writer, 0 = unknown
};

/**
 * Creates a file that must not exist (mode 0600, folders 0700) and takes the lock. On
 * failure nothing new is left.
 */
enum pi_status journal_create(struct journal **out, const char *path,
                              struct pi_error *err) NODISCARD;

/**
 * Opens a file for appending when nobody else does, else for reading; *owner tells. A
 * file that may only be read is opened so, too, and with owner NULL every file is, and no
 * lock is asked for. PI_INVALID: not a regular file.
 */
enum pi_status journal_open(struct journal **out, struct journal_owner *owner,
                            const char *path, struct pi_error *err) NODISCARD;

/** Accepts NULL. A file that journal_create made and that is still empty is removed. */
void journal_close(struct journal *j);

/** NULL when records can be appended, else why not, for people. */
const char *journal_read_only(const struct journal *j);

/** Bytes in the file as we know it. */
uint64_t journal_size(const struct journal *j);

/**
 * Appends one record: a line with its LF. PI_DENIED when read only, PI_NOT_FOUND when the
 * file was deleted meanwhile. On failure nothing of it stays in the file and the same
 * record may be tried again. *offset, which may be NULL, tells where it begins.
 */
enum pi_status journal_append(struct journal *j, struct sv record, uint64_t *offset,
                              struct pi_error *err) NODISCARD;

/** Makes durable what was appended, the new file's name included. */
enum pi_status journal_sync(struct journal *j, struct pi_error *err) NODISCARD;

enum {
    JOURNAL_HEAD_BYTES = 64 * 1024,       // a longer line is shown up to here at least
    JOURNAL_LINE_MAX = 256 * 1024 * 1024, // a longer line cannot be read
};

/** A line of the file: where it is, and its beginning while the callback runs. */
struct journal_line {
    uint64_t offset;
    uint64_t length; // bytes without LF
    size_t number;   // 1-based
    struct sv head;  // all of it, or its first JOURNAL_HEAD_BYTES at least
    char last;       // its last byte; 0 when it is empty
    bool whole;      // false: the last line, without LF
};

/**
 * Walks all lines in fixed memory, however long they are; `each` returns false to stop.
 */
enum pi_status journal_scan(struct journal *j,
                            bool (*each)(void *data, const struct journal_line *line),
                            void *data, struct pi_error *err) NODISCARD;

/** Appends the line at an offset that journal_scan told, without LF. PI_LIMIT. */
enum pi_status journal_read(struct journal *j, uint64_t offset, struct buf *out,
                            struct pi_error *err) NODISCARD;
