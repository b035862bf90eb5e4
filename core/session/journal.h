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
 * Owned by one thread. May block in the file system.
 */
struct journal;

/** Somebody else writes to this file. */
struct journal_owner {
    bool other; // we read only
    long pid;   // of the writer, 0 = unknown
};

/**
 * Creates a file that must not exist (mode 0600, folders 0700) and takes the lock.
 * Nothing is written until the first append.
 */
enum pi_status journal_create(struct journal **out, const char *path,
                              struct pi_error *err) NODISCARD;

/** Opens a file for appending when nobody else does, else for reading; *owner tells. */
enum pi_status journal_open(struct journal **out, struct journal_owner *owner,
                            const char *path, struct pi_error *err) NODISCARD;

void journal_close(struct journal *j); // accepts NULL

const char *journal_path(const struct journal *j);

/**
 * Appends one record (a line without its LF). PI_DENIED when read only. On failure
 * nothing of it stays in the file and the same record may be tried again.
 */
enum pi_status journal_append(struct journal *j, struct sv record,
                              struct pi_error *err) NODISCARD;

/** fsync. */
enum pi_status journal_sync(struct journal *j, struct pi_error *err) NODISCARD;

/** A line of the file: where it is, and its bytes while the callback runs. */
struct journal_line {
    uint64_t offset;
    size_t number;  // 1-based
    struct sv text; // without LF; NULL bytes and cut ends included
    bool whole;     // false: the last line, without LF
};

/**
 * Walks all lines with memory for the longest one only; `each` returns false to stop.
 * Lines over 256 MiB are handed over empty with whole = false.
 */
enum pi_status journal_scan(struct journal *j,
                            bool (*each)(void *data, const struct journal_line *line),
                            void *data, struct pi_error *err) NODISCARD;

/** Reads the line at an offset that journal_scan told. */
enum pi_status journal_read(struct journal *j, uint64_t offset, struct buf *out,
                            struct pi_error *err) NODISCARD;
