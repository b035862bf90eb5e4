#include "host/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PIECE = 256 * 1024, SMALL = 16 * 1024 };

size_t disk_new_size(const struct disk_change *c)
{
    size_t size = c->old.n;
    for (size_t i = 0; i < c->len; i++) {
        size = size - c->changes[i].length + c->changes[i].text.n;
    }
    return size;
}

size_t disk_first(const struct disk_change *c)
{
    return c->len > 0 ? c->changes[0].offset : c->old.n;
}

size_t disk_last(const struct disk_change *c)
{
    size_t size = disk_new_size(c);
    if (size != c->old.n || c->len == 0) {
        return size;
    }
    const struct host_change *last = &c->changes[c->len - 1];
    return last->offset + last->length;
}

/* ------------------------------------------------------------------------- writing -- */

// Gathers small pieces, so that a thousand replacements are not two thousand writes.
struct output {
    int fd;
    size_t at;       // position in the new content
    size_t from, to; // the part that is wanted
    struct cancel *cancel;
    char *held;
    size_t held_len;
};

static enum pi_status output_flush(struct output *o, struct pi_error *err)
{
    enum pi_status status = file_write(o->fd, o->held, o->held_len, err);
    o->held_len = 0;
    return status;
}

static enum pi_status output_large(struct output *o, struct sv bytes,
                                   struct pi_error *err)
{
    enum pi_status status = output_flush(o, err);
    while (status == PI_OK && bytes.n > 0) {
        size_t n = bytes.n < PIECE ? bytes.n : PIECE;
        status = cancel_check(o->cancel, err);
        if (status == PI_OK) {
            status = file_write(o->fd, bytes.p, n, err);
        }
        bytes = sv_from(bytes, n);
    }
    return status;
}

static enum pi_status output_add(struct output *o, struct sv bytes, struct pi_error *err)
{
    size_t at = o->at;
    o->at += bytes.n;
    if (o->at <= o->from || at >= o->to) {
        return PI_OK;
    }
    size_t skip = at < o->from ? o->from - at : 0;
    size_t end = o->at > o->to ? o->to - at : bytes.n;
    bytes = sv_sub(bytes, skip, end - skip);
    if (bytes.n >= SMALL) {
        return output_large(o, bytes, err);
    }
    if (bytes.n > SMALL - o->held_len) {
        enum pi_status status = output_flush(o, err);
        if (status != PI_OK) {
            return status;
        }
    }
    if (bytes.n > 0) {
        memcpy(o->held + o->held_len, bytes.p, bytes.n);
        o->held_len += bytes.n;
    }
    return PI_OK;
}

enum pi_status disk_write(const struct disk_change *c, int fd, size_t from, size_t to,
                          struct cancel *cancel, struct pi_error *err)
{
    struct output o = {.fd = fd, .from = from, .to = to, .cancel = cancel};
    o.held = malloc(SMALL);
    if (!o.held) {
        return error_nomem(err);
    }
    enum pi_status status = PI_OK;
    size_t at = 0;
    for (size_t i = 0; i < c->len && status == PI_OK; i++) {
        const struct host_change *change = &c->changes[i];
        status = output_add(&o, sv_sub(c->old, at, change->offset - at), err);
        if (status == PI_OK) {
            status = output_add(&o, change->text, err);
        }
        at = change->offset + change->length;
    }
    if (status == PI_OK) {
        status = output_add(&o, sv_from(c->old, at), err);
    }
    if (status == PI_OK) {
        status = output_flush(&o, err);
    }
    free(o.held);
    return status;
}

/* ----------------------------------------------------------------------- comparing -- */

enum pi_status disk_stale(const char *path, struct pi_error *err)
{
    return error_set(err, PI_STALE, "%s was changed by somebody else just now", path);
}

enum pi_status disk_unchanged(const struct disk_change *c, int fd, struct pi_error *err)
{
    char *piece = malloc(PIECE);
    enum pi_status status = piece ? PI_OK : error_nomem(err);
    size_t at = 0, got = 0;
    while (status == PI_OK) {
        status = cancel_check(c->cancel, err);
        if (status == PI_OK) {
            status = file_pread(fd, piece, PIECE, (off_t)at, &got, err);
        }
        if (status != PI_OK) {
            break;
        }
        if (got > c->old.n - at || (got > 0 && memcmp(piece, c->old.p + at, got) != 0)) {
            status = disk_stale(c->path, err);
            break;
        }
        at += got;
        if (got < PIECE) {
            status = at == c->old.n ? PI_OK : disk_stale(c->path, err);
            break;
        }
    }
    free(piece);
    return status;
}

bool disk_same_files(int a, int b)
{
    char *x = malloc(PIECE), *y = malloc(PIECE);
    size_t x_len = 0, y_len = 0;
    off_t at = 0;
    bool same = x && y;
    do {
        same = same && file_pread(a, x, PIECE, at, &x_len, NULL) == PI_OK &&
               file_pread(b, y, PIECE, at, &y_len, NULL) == PI_OK &&
               sv_eq(sv_make(x, x_len), sv_make(y, y_len));
        at += PIECE;
    } while (same && x_len == PIECE);
    free(x);
    free(y);
    return same;
}

/* --------------------------------------------------------------------------- small -- */

enum pi_status disk_room(size_t size, struct pi_error *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size > limit.rlim_cur) {
        return error_errno(err, EFBIG, "%zu bytes are over the limit for files", size);
    }
    return PI_OK;
}

// For file systems without RENAME_NOREPLACE: a hard link cannot replace either. Where
// there are no hard links, look first; what is left is a very short moment.
static int rename_by_link(const char *from, const char *to)
{
    struct stat st;
    if (link(from, to) == 0) {
        return unlink(from) == 0 ? 0 : errno;
    }
    if (errno == EEXIST) {
        return EEXIST;
    }
    if (lstat(to, &st) == 0) {
        return EEXIST;
    }
    return rename(from, to) == 0 ? 0 : errno;
}

int disk_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    return errno == EINVAL || errno == ENOSYS ? rename_by_link(from, to) : errno;
}

enum pi_status disk_failed(const struct pi_error *cause, const char *path,
                           struct pi_error *err)
{
    switch (cause->code) {
    case PI_ABORTED:
    case PI_STALE:
    case PI_CONFLICT:
        if (err) {
            *err = *cause;
        }
        return cause->code;
    default:
        return error_set(err, cause->code, "cannot write %s: %s. Nothing was changed.",
                         path, cause->message);
    }
}
