#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sv.h"

/**
 * The log that holds the whole output of a command, byte for byte, once that is more than
 * the result shows: private (0600), new, at most 2 GiB and only while 5 % of the disk
 * stay free. Logs of the user in the same folder go when nothing was written to them for
 * 7 days. A zeroed struct is finished.
 */
struct spill {
    char *path; // dir/pi-bash-<16 hex digits>.log; the file need not exist
    int fd;     // -1: not open
    int64_t size;
    int64_t room; // bytes until the disk is to be looked at again
    bool created;
    bool stopped;      // it lacks something
    char problem[256]; // why, as part of a sentence
};

/** Chooses the name. PI_NOMEM. */
enum pi_status spill_init(struct spill *s, const char *dir,
                          struct pi_error *err) NODISCARD;

/** Closes the file, which stays. Accepts NULL. */
void spill_finish(struct spill *s);

/** Appends; creates the file at first. A failure is kept in `stopped` and `problem`. */
void spill_write(struct spill *s, struct sv bytes);

/** Removes the file if it was created. */
void spill_remove(struct spill *s);
