#pragma once

#include <stdbool.h>

#include <msgpack.h>

#include "base/buf.h"
#include "frame.h"
#include "pi.h"

/**
 * The connection to Neovim: two descriptors, messages in and bytes out. Nothing blocks;
 * the poll loop says when to read and to write.
 */
struct channel {
    int in, out; // non-blocking; owned
    struct frame frame;
    struct buf received; // the beginning of a message
    struct buf to_send;
    size_t sent; // bytes of to_send that are out
};

/** Takes both descriptors over. */
void channel_init(struct channel *c, int in, int out);
void channel_finish(struct channel *c);

/**
 * Reads what is there and hands each message to on_message, which borrows it. PI_CLOSED:
 * the other side is gone. PI_INVALID: what came is not msgpack-RPC and the stream cannot
 * be understood any more. PI_IO, PI_NOMEM.
 */
enum pi_status channel_read(struct channel *c,
                            void (*on_message)(void *data, const msgpack_object *message),
                            void *data, struct pi_error *err);

/** Queues a message; one that failed in packing is dropped. False then. */
bool channel_send(struct channel *c, const struct buf *message);

/** Whether there is something to write. */
bool channel_wants_write(const struct channel *c);

/** Writes as much as can be written now. PI_CLOSED, PI_IO. */
enum pi_status channel_write(struct channel *c, struct pi_error *err);
