#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Characters that look alike: compatibility forms are taken apart (Unicode NFKD),
 * typographic quotes become ' and ", dashes become -, odd blanks become a plain one.
 * Case, digits and letters of other scripts stay as they are.
 */

enum { FOLD_MAX = 18 }; // the longest decomposition of one code point

/** Writes what `code` looks like to out and returns how many code points that is, >= 1.
 */
size_t fold_char(uint32_t code, uint32_t out[FOLD_MAX]);

/** Whether `code` is white space within a line (not LF, CR and other ends of lines). */
bool fold_is_blank(uint32_t code);
