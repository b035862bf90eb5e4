#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * UTF-16 to UTF-8, in pieces of any size. Half a surrogate pair becomes U+FFFD. A zeroed
 * struct is the start of little-endian text.
 */
struct utf16_stream {
    bool big_endian;
    bool odd;           // one byte of a unit is held
    unsigned char byte; // that byte
    uint16_t lead; // the first half of a pair whose second half has not arrived, or 0
};

void utf16_feed(struct utf16_stream *u, struct buf *out, struct sv piece);

/** End of the text: what is incomplete becomes U+FFFD. */
void utf16_end(struct utf16_stream *u, struct buf *out);
