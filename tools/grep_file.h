#pragma once

#include "file_type.h"
#include "grep_text.h"

/** Searches files one after another, in memory that is used again and again. */

struct grep_counts {
    size_t files; // searched
    size_t binary, large, unreadable;
};

/** For one thread. Starts zeroed, with grep made by grep_init() or grep_share(). */
struct grep_file {
    struct grep grep;
    struct grep_counts counts;
    struct file_type type; // of the last file
    struct buf bytes;      // its content
    struct buf utf8;       // the same when it was UTF-16
    bool impatient;        // it waited in vain for another large file
};

void grep_file_finish(struct grep_file *f);

/** A larger file is data; it would take memory from the editor around the agent. */
enum { GREP_FILE_MAX = 256 * 1024 * 1024 };

/**
 * Searches the file `name` in an open folder; rows call it path. What cannot be searched
 * is counted and no error. PI_ABORTED, PI_NOMEM.
 */
enum pi_status grep_file_at(struct grep_file *f, int folder, const char *name,
                            const char *path, struct pi_error *err) NODISCARD;

/** Judges f->bytes, which the caller filled, and searches them unless they are binary. */
enum pi_status grep_file_bytes(struct grep_file *f, struct sv name,
                               struct pi_error *err) NODISCARD;

/** Whether the search is over: no more rows are wanted, or the pattern is hopeless. */
bool grep_file_is_over(const struct grep_file *f);
