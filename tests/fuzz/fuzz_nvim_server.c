// link: pi-nvim-rpc
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <msgpack.h>

#include "server.h"

// What Neovim, or whoever is at the other end, may say: each request gets one answer, and
// nothing else gets any. There is no agent: `hello` is left out, since it would start
// one.

struct peer {
    struct server server;
    int fd;
    size_t requests, answers;
};

static bool is_request(const msgpack_object *m)
{
    return m->type == MSGPACK_OBJECT_ARRAY && m->via.array.size == 4 &&
           m->via.array.ptr[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
           m->via.array.ptr[0].via.u64 == 0 &&
           m->via.array.ptr[1].type == MSGPACK_OBJECT_POSITIVE_INTEGER;
}

static bool is_hello(const msgpack_object *m)
{
    for (uint32_t i = 1; m->type == MSGPACK_OBJECT_ARRAY && i < m->via.array.size; i++) {
        const msgpack_object *part = &m->via.array.ptr[i];
        if (part->type == MSGPACK_OBJECT_STR &&
            sv_eqs(sv_make(part->via.str.ptr, part->via.str.size), "hello")) {
            return true;
        }
    }
    return false;
}

static void on_message(void *data, const msgpack_object *message)
{
    struct peer *p = data;
    if (!is_hello(message)) {
        p->requests += is_request(message);
        server_message(&p->server, message);
    }
}

// Counts the answers in what the server sent.
static void take_answers(struct peer *p, msgpack_unpacker *received)
{
    msgpack_unpacked message;
    msgpack_unpacked_init(&message);
    for (;;) {
        if (!msgpack_unpacker_reserve_buffer(received, 65536)) {
            abort();
        }
        ssize_t n = read(p->fd, msgpack_unpacker_buffer(received), 65536);
        if (n <= 0) {
            break;
        }
        msgpack_unpacker_buffer_consumed(received, (size_t)n);
    }
    while (msgpack_unpacker_next(received, &message) == MSGPACK_UNPACK_SUCCESS) {
        const msgpack_object *m = &message.data;
        if (m->type != MSGPACK_OBJECT_ARRAY || m->via.array.size != 4) {
            abort();
        }
        p->answers += m->via.array.ptr[0].via.u64 == 1;
    }
    msgpack_unpacked_destroy(&message);
}

static void talk(struct peer *p, const uint8_t *data, size_t size,
                 msgpack_unpacker *received)
{
    while (size > 0 && !p->server.over) {
        size_t piece = size < 4096 ? size : 4096;
        if (write(p->fd, data, piece) != (ssize_t)piece) {
            abort();
        }
        data += piece;
        size -= piece;
        enum pi_status status = channel_read(&p->server.channel, on_message, p, NULL);
        if (status != PI_OK) {
            return;
        }
        server_step(&p->server);
        if (channel_write(&p->server.channel, NULL) != PI_OK) {
            abort();
        }
        take_answers(p, received);
        if (p->answers != p->requests) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer p = {0};
    int ends[2];
    if (size > 65536 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends)) {
        return 0;
    }
    p.fd = ends[0];
    msgpack_unpacker received;
    if (!msgpack_unpacker_init(&received, 65536) ||
        server_init(&p.server, ends[1], fcntl(ends[1], F_DUPFD_CLOEXEC, 3), NULL) !=
            PI_OK) {
        abort();
    }
    talk(&p, data, size, &received);
    server_finish(&p.server);
    msgpack_unpacker_destroy(&received);
    close(p.fd);
    return 0;
}
