#pragma once

#include <sys/stat.h>

#include "base/error.h"
#include "base/sv.h"

/**
 * Safety copies of files that must be written in place.
 *
 * While a file is written in place, its old content lies complete and synced in
 * ".NAME.pi-restore" beside it, or, where that folder cannot be written, in
 * "/var/tmp/.NAME.pi-restore-UID-HASH" (HASH of the real path). The writer holds a
 * lock on the copy and removes it at the end. A copy without a lock was therefore left
 * by a writer that was killed: the file may be half written, and only the user or the
 * model can say which content is wanted. A copy that equals the file is of no use to
 * anybody and removed when it is found.
 */
struct safety {
    char *path;
    int fd;
};

/**
 * Makes the copy of old, the present content of the file at path, whose state is st.
 * PI_STALE: another writer is at work. PI_CONFLICT: a killed one left its copy; the
 * message tells how to restore. PI_IO and others: no copy could be made anywhere.
 */
enum pi_status safety_make(struct safety *s, const char *path, const struct stat *st,
                           struct sv old, struct pi_error *err) NODISCARD;

/** The file is whole: removes the copy. */
void safety_remove(struct safety *s);

/** The file is not whole: leaves the copy to be found. */
void safety_leave(struct safety *s);

/**
 * The copy that a killed writer of the file at path left, NULL when there is none (or no
 * memory). Costs two system calls when there is none. Caller frees.
 */
char *safety_find(const char *path);

/** Fills err with what happened to path and how to restore it from copy: PI_CONFLICT. */
enum pi_status safety_error(struct pi_error *err, const char *path, const char *copy);
