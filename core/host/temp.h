#pragma once

#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"

/**
 * A temporary file ".NAME.pi-XXXXXX" that will take the place of another one. A zeroed
 * struct with fd -1 is none.
 */
struct temp_file {
    char *path;
    int fd;
};

#define TEMP_FILE_NONE                                                                   \
    {                                                                                    \
        .fd = -1                                                                         \
    }

/**
 * Creates it in dir, open for reading and writing; NAME is shortened when the whole would
 * be longer than a name may be. *errnum gets the errno of a failure, 0 without memory.
 */
enum pi_status temp_create(struct temp_file *t, const char *dir, const char *name,
                           mode_t mode, int *errnum) NODISCARD;

/** The file has got its final name: forgets the temporary one and closes. */
void temp_kept(struct temp_file *t);

/** Removes and closes what is left. Idempotent. */
void temp_discard(struct temp_file *t);

/**
 * "DIR/.NAMEsuffix" with NAME shortened so that the last part is at most 255 bytes; NULL
 * without memory.
 */
char *temp_name(const char *dir, const char *name, const char *suffix);
