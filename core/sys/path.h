#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"
#include "sys/env.h"

/**
 * Paths as the model writes them. Contract: reference behaviour of path arguments with
 * its faults mended: the argument is tried exactly as given first, then in its normalised
 * forms, the same way in all tools.
 *
 * Order: as given (relative to cwd, "~" and "~/" expanded to home); then, only when
 * nothing exists there, without a leading "@"; then a look-alike: when for_reading, the
 * existing path that differs only in what looks the same (fold.h: composed or decomposed
 * letters, odd blanks, typographic quotes and dashes); else the form with plain blanks
 * for U+00A0, U+2000-200A, U+202F, U+205F and U+3000. Several look-alikes are none. When
 * nothing exists: the form for a new file, which has blanks as given and no leading "@",
 * unless it lies in an existing folder named "@...".
 */
struct path_request {
    const char *argument; // UTF-8; "" means cwd
    const char *cwd;      // absolute
    const char *home;     // value of HOME, may be NULL
    bool for_reading;
};

/**
 * Resolves to an absolute, lexically normalised path (caller frees). *folded, when not
 * NULL, tells that a variant was taken, which the tool's result should name. PI_INVALID:
 * input that is not UTF-8, over 4095 bytes, a component over 255 bytes, "~user" unless a
 * file has that name.
 */
enum pi_status path_resolve(char **out, bool *folded, const struct path_request *request,
                            struct pi_error *err) NODISCARD;

/** Joins and folds ".", "..", "//" and a final "/" lexically; NULL without memory. */
char *path_join(const char *dir, const char *name);

/** The part after the last "/", the whole when there is none; points into path. */
const char *path_base(const char *path);

/** The folder of path ("/" of "/x", "." when there is none); NULL without memory. */
char *path_dir(const char *path);

/**
 * The real path: symbolic links followed, also a dangling one to where it points; of a
 * missing file the real path of its nearest existing ancestor plus the rest. A link of
 * /proc to something without a name stays as it is. PI_IO for a loop of links.
 */
enum pi_status path_real(char **out, const char *path, struct pi_error *err) NODISCARD;

/** Whether path is dir or lies below it; both are real paths. Compares components. */
bool path_inside(const char *path, const char *dir);

/** path relative to dir when it lies below it, else path itself; points into path. */
const char *path_relative(const char *path, const char *dir);
