#pragma once

#include <stddef.h>

#include "base/sv.h"

/**
 * The rules of UTF-8, for base itself and for text/utf8.h: surrogates, overlong forms and
 * code points above U+10FFFF are ill-formed.
 */

enum utf8_kind {
    UTF8_GOOD, // a complete, valid sequence
    UTF8_BAD,  // a maximal ill-formed subpart: one U+FFFD stands for it
    UTF8_CUT,  // as UTF8_BAD, but only because the slice ends inside a sequence
};

/** The length (>= 1) and kind of what stands at the start of s, which must not be empty.
 */
size_t utf8_scan_one(struct sv s, enum utf8_kind *kind);

/** The length of the longest valid start of s. Fast for long runs of ASCII. */
size_t utf8_scan_run(struct sv s);
