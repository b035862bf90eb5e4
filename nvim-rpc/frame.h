#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * Finds where a msgpack message ends, in constant memory, before anything is decoded: so
 * the decoder only ever sees messages that are complete, not too large and not too deep.
 * (It would reserve gigabytes for five bytes that announce a large array.)
 */

enum {
    FRAME_DEPTH_MAX = 16,
    FRAME_BYTES_MAX = 64 * 1024 * 1024, // of one message
    FRAME_VALUES_MAX = 1024 * 1024,     // in one message
};

/** A zeroed struct stands before the first message. */
struct frame {
    size_t bytes;                   // of this message so far
    size_t values;                  // headers of this message so far
    size_t skip;                    // bytes of a string or number that are still to come
    uint32_t left[FRAME_DEPTH_MAX]; // values to come, of each container that is open
    unsigned depth;
    unsigned char lead;  // of a header whose length is still to come
    unsigned length_len; // bytes of that length that are still to come
    uint32_t length;     // what has come of it
};

enum frame_result {
    FRAME_MORE, // all bytes are used, the message goes on
    FRAME_END,  // the message ended behind *used bytes; the next one starts there
    FRAME_BAD,  // not msgpack, too large or too deep: the stream is of no more use
};

/** Takes up to len bytes; *used says how many. Pure. */
enum frame_result frame_feed(struct frame *f, const void *bytes, size_t len,
                             size_t *used);
