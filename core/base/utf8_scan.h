#pragma once

#include <stdbool.h>
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

static inline bool utf8_continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/** The second byte of three or four decides about overlong forms, surrogates and
 * U+110000.
 */
static inline bool utf8_second_fits(unsigned char lead, unsigned char second)
{
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

/** The length of the valid sequence of two or more bytes at the start of p[n], else 0.
 * Inline, since loops over text that is not ASCII live from it. */
static inline size_t utf8_scan_wide(const unsigned char *p, size_t n)
{
    unsigned char lead = p[0];
    if (lead < 0xe0) {
        return lead >= 0xc2 && n >= 2 && utf8_continues(p[1]) ? 2 : 0;
    }
    if (n < 3 || !utf8_second_fits(lead, p[1]) || !utf8_continues(p[2])) {
        return 0;
    }
    if (lead < 0xf0) {
        return 3;
    }
    return lead <= 0xf4 && n >= 4 && utf8_continues(p[3]) ? 4 : 0;
}
