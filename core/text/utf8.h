#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * UTF-8 as the WHATWG encoding standard decodes it: each maximal ill-formed subpart
 * becomes one U+FFFD. Surrogates and code points above U+10FFFF are ill-formed.
 */

/** Length in bytes of the valid sequence at the start of s, 0 when s is empty or
 * ill-formed. */
size_t utf8_sequence(struct sv s);

/**
 * Takes one code point off the front of *s: 0xFFFD for an ill-formed subpart. s must not
 * be empty.
 */
uint32_t utf8_next(struct sv *s);

/** Appends a code point. */
void utf8_put(struct buf *b, uint32_t code);

bool utf8_valid(struct sv s);

/** Appends s with every ill-formed subpart replaced. */
void utf8_repair(struct buf *b, struct sv s);

/** The largest k <= n that is not inside a valid sequence of s. */
size_t utf8_floor(struct sv s, size_t n);

/** The smallest k >= n (at most s.n) that is not inside a valid sequence of s. */
size_t utf8_ceil(struct sv s, size_t n);

/** Columns on a terminal: wide characters 2, combining 0, control characters 0. */
size_t utf8_width(struct sv s);

/** Repair of a stream that arrives in pieces of any size. A zeroed struct is the start.
 */
struct utf8_stream {
    char held[4]; // the beginning of a sequence whose end has not arrived
    unsigned char held_len;
};

/** Appends the repaired text of the next piece; keeps back an incomplete sequence. */
void utf8_stream_feed(struct utf8_stream *u, struct buf *out, struct sv piece);

/** End of the stream: an incomplete sequence becomes U+FFFD. */
void utf8_stream_end(struct utf8_stream *u, struct buf *out);
