// link: pi-nvim-rpc
#include <stdint.h>
#include <stdlib.h>

#include <msgpack.h>

#include "frame.h"

// The first byte gives the size of the pieces. However the input is cut, messages end at
// the same places, and what is between two of them the library can decode.

static void decode(const uint8_t *data, size_t len)
{
    msgpack_unpacked message;
    msgpack_unpacked_init(&message);
    size_t at = 0;
    if (msgpack_unpack_next(&message, (const char *)data, len, &at) !=
            MSGPACK_UNPACK_SUCCESS ||
        at != len) {
        abort();
    }
    msgpack_unpacked_destroy(&message);
}

// Feeds up to the end of the next message.
static enum frame_result next(struct frame *f, const uint8_t *data, size_t len,
                              size_t piece, size_t *at)
{
    enum frame_result result = FRAME_MORE;
    for (*at = 0; *at < len && result == FRAME_MORE;) {
        size_t n = len - *at < piece ? len - *at : piece;
        size_t used;
        result = frame_feed(f, data + *at, n, &used);
        if (used > n || (used < n && result == FRAME_MORE)) {
            abort();
        }
        *at += used;
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    size_t piece = (size_t)data[0] + 1;
    struct frame whole = {0}, cut = {0};
    enum frame_result result = FRAME_END;
    data++;
    size--;
    while (size > 0 && result == FRAME_END) {
        size_t at;
        size_t cut_at;
        result = next(&whole, data, size, size, &at);
        if (next(&cut, data, size, piece, &cut_at) != result || cut_at != at) {
            abort();
        }
        if (result == FRAME_END) {
            decode(data, at);
        }
        data += at;
        size -= at;
    }
    return 0;
}
