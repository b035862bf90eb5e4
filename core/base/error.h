#pragma once

#include "base/attr.h"
#include "pi.h"

// enum pi_status and struct pi_error are the public ones of pi.h: one vocabulary of
// failure from the tools to the faces.

/**
 * Fills *err (which may be NULL) and returns code, so that a function can end with
 * `return error_set(err, PI_INVALID, "...")`. A text that does not fit is cut at a
 * character boundary and ends in "...".
 */
enum pi_status error_set(struct pi_error *err, enum pi_status code, const char *format,
                         ...) PRINTF(3, 4);

/**
 * As error_set, with ": " and the system's own words for errnum (an errno value)
 * appended; the code is chosen from errnum (ENOENT -> PI_NOT_FOUND, EACCES/EPERM/EROFS ->
 * PI_DENIED, ENOMEM -> PI_NOMEM, else PI_IO).
 */
enum pi_status error_errno(struct pi_error *err, int errnum, const char *format, ...)
    PRINTF(3, 4);

/** PI_NOMEM with the one text that all modules use for it. */
enum pi_status error_nomem(struct pi_error *err);

/** The name of an errno value ("ENOENT"), "" for an unknown one. Static. */
const char *error_errno_name(int errnum);
