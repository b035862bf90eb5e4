#include "out.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "exit.h"
#include "mainloop.h"

// A pipe that poll() calls writable takes this much (PIPE_BUF) without blocking.
enum { PIECE = 4096, GATHER = 32 * 1024 };

static void broken(struct out *o, int errnum)
{
    o->broken = true;
    if (!o->required) {
        return;
    }
    int code = EXIT_STDOUT_CLOSED;
    if (errnum != EPIPE) {
        struct pi_error err;
        error_errno(&err, errnum, "cannot write to stdout");
        fprintf(stderr, "pi: %s\n", err.message);
        code = EXIT_FAILED;
    }
    if (o->loop) {
        mainloop_leave(o->loop, code);
    }
}

static bool wait_for_room(struct out *o)
{
    if (o->loop) {
        return mainloop_wait_writable(o->loop, o->fd);
    }
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

bool out_flush(struct out *o)
{
    if (!buf_ok(&o->buf)) {
        broken(o, ENOMEM);
    }
    struct sv rest = buf_sv(&o->buf);
    while (rest.n > 0 && !o->broken) {
        if (!wait_for_room(o)) {
            o->broken = true;
            break;
        }
        ssize_t n = write(o->fd, rest.p, rest.n < PIECE ? rest.n : PIECE);
        if (n >= 0) {
            rest = sv_from(rest, (size_t)n);
        } else if (errno != EINTR && errno != EAGAIN) {
            broken(o, errno);
        }
    }
    buf_clear(&o->buf);
    return !o->broken;
}

void out_add(struct out *o, struct sv text)
{
    if (o->broken) {
        return;
    }
    buf_addsv(&o->buf, text);
    if (o->buf.len >= GATHER || !buf_ok(&o->buf)) {
        out_flush(o);
    }
}

void out_adds(struct out *o, const char *text)
{
    out_add(o, sv_of(text));
}

void out_finish(struct out *o)
{
    buf_finish(&o->buf);
}
