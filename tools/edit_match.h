#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"
#include "edit_unit.h"

/**
 * Finds where oldText stands in a text. Pure: works on bytes and makes no copy of the
 * text; memory is proportional to oldText, time to both.
 */

enum { EDIT_MATCH_SHOWN = 5 };

/** The places of the first level (exact, line ends, fuzzy) that has any. */
struct edit_match {
    enum edit_level level;
    size_t count; // all of them, overlapping ones too; 0 = not found
    size_t starts[EDIT_MATCH_SHOWN];
    size_t start, end; // bytes of the first one; never half of a CRLF at its front
};

/**
 * Looks for `old`, which must not be empty. At the fuzzy level white space at the very
 * end of `old` matches itself or the end of a line, never the beginning of a word. PI_OK
 * also when nothing was found; PI_NOMEM.
 */
enum pi_status edit_match_find(struct edit_match *out, struct sv text, struct sv old,
                               struct pi_error *err) NODISCARD;

/** 1-based number of the line that holds byte `at`. O(at). */
size_t edit_line_number(struct sv text, size_t at);
