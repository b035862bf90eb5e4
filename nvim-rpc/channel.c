#include "channel.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"

enum { PIECE = 64 * 1024 };

void channel_init(struct channel *c, int in, int out)
{
    *c = (struct channel){.in = in, .out = out};
}

void channel_finish(struct channel *c)
{
    close(c->in);
    close(c->out);
    buf_finish(&c->received);
    buf_finish(&c->to_send);
}

// One complete message, of which the frame knows that it is neither deep nor large.
static enum pi_status deliver(struct channel *c,
                              void (*on_message)(void *, const msgpack_object *),
                              void *data, struct pi_error *err)
{
    msgpack_unpacked message;
    msgpack_unpacked_init(&message);
    size_t at = 0;
    msgpack_unpack_return result =
        msgpack_unpack_next(&message, c->received.data, c->received.len, &at);
    enum pi_status status = PI_OK;
    if (result == MSGPACK_UNPACK_SUCCESS && at == c->received.len) {
        on_message(data, &message.data);
    } else if (result == MSGPACK_UNPACK_NOMEM_ERROR) {
        status = error_nomem(err);
    } else {
        status = error_set(err, PI_INVALID, "a message cannot be decoded");
    }
    msgpack_unpacked_destroy(&message);
    buf_clear(&c->received);
    return status;
}

static enum pi_status feed(struct channel *c, struct sv bytes,
                           void (*on_message)(void *, const msgpack_object *), void *data,
                           struct pi_error *err)
{
    enum pi_status status = PI_OK;
    while (status == PI_OK && bytes.n > 0) {
        size_t used;
        enum frame_result result = frame_feed(&c->frame, bytes.p, bytes.n, &used);
        if (result == FRAME_BAD) {
            return error_set(err, PI_INVALID,
                             "what came is not msgpack, or too large or too deep");
        }
        buf_add(&c->received, bytes.p, used);
        bytes = sv_from(bytes, used);
        if (!buf_ok(&c->received)) {
            return error_nomem(err);
        }
        if (result == FRAME_END) {
            status = deliver(c, on_message, data, err);
        }
    }
    return status;
}

enum pi_status channel_read(struct channel *c,
                            void (*on_message)(void *data, const msgpack_object *message),
                            void *data, struct pi_error *err)
{
    char piece[PIECE];
    ssize_t n = read(c->in, piece, sizeof piece);
    if (n == 0) {
        return PI_CLOSED;
    }
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR
                   ? PI_OK
                   : error_errno(err, errno, "reading from Neovim");
    }
    return feed(c, sv_make(piece, (size_t)n), on_message, data, err);
}

bool channel_send(struct channel *c, const struct buf *message)
{
    if (!buf_ok(message)) {
        return false;
    }
    size_t before = c->to_send.len;
    buf_add(&c->to_send, message->data, message->len);
    if (!buf_ok(&c->to_send)) {
        c->to_send.failed = false; // what was there is whole
        buf_truncate(&c->to_send, before);
        return false;
    }
    return true;
}

bool channel_wants_write(const struct channel *c)
{
    return c->sent < c->to_send.len;
}

enum pi_status channel_write(struct channel *c, struct pi_error *err)
{
    while (channel_wants_write(c)) {
        ssize_t n = write(c->out, c->to_send.data + c->sent, c->to_send.len - c->sent);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return PI_OK;
        }
        if (n < 0) {
            return errno == EPIPE ? PI_CLOSED
                                  : error_errno(err, errno, "writing to Neovim");
        }
        c->sent += (size_t)n;
    }
    buf_clear(&c->to_send);
    c->sent = 0;
    return PI_OK;
}
