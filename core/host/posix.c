#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/disk.h"
#include "host/encoding.h"
#include "host/host.h"
#include "host/safety.h"

enum { PIECE = 128 * 1024, LOAD_PIECE = 1024 * 1024 };

// What is changed is held in memory; beyond this the tools of the shell are better.
#define MAX_SNAPSHOT ((off_t)1 << 30)

/* ---------------------------------------------------------------------------- read -- */

static enum pi_status stream(int fd, host_sink sink, void *sink_data,
                             struct cancel *cancel, struct pi_error *err)
{
    char *piece = malloc(PIECE);
    enum pi_status status = piece ? PI_OK : error_nomem(err);
    for (size_t got = PIECE; status == PI_OK && got == PIECE;) {
        status = cancel_check(cancel, err);
        if (status == PI_OK) {
            status = file_read(fd, piece, PIECE, &got, err);
        }
        if (status == PI_OK && got > 0 && !sink(sink_data, sv_make(piece, got))) {
            break;
        }
    }
    free(piece);
    return status;
}

static enum pi_status posix_read(struct host *h UNUSED, const struct host_target *target,
                                 uint64_t offset, host_sink sink, void *sink_data,
                                 struct host_origin *origin, struct file_stamp *stamp,
                                 struct cancel *cancel, struct pi_error *err)
{
    struct stat st;
    int fd = -1;
    enum pi_status status = cancel_check(cancel, err);
    if (status == PI_OK) {
        status = file_open_regular(&fd, target->path, &st, err);
    }
    if (status != PI_OK) {
        return status;
    }
    if (origin) {
        *origin = (struct host_origin){0};
    }
    if (stamp) {
        *stamp = file_stamp_of(&st);
    }
    if (offset > 0 && (offset > INT64_MAX || lseek(fd, (off_t)offset, SEEK_SET) < 0)) {
        status = error_errno(err, errno, "cannot go to byte %ju of %s", (uintmax_t)offset,
                             target->path);
    }
    if (status == PI_OK) {
        struct pi_error cause = {0};
        status = stream(fd, sink, sink_data, cancel, &cause);
        if (status == PI_IO) {
            (void)error_set(err, status, "cannot read %s: %s", target->path,
                            cause.message);
        } else if (status != PI_OK && err) {
            *err = cause;
        }
    }
    file_close(&fd);
    return status;
}

/* ------------------------------------------------------------------------ snapshot -- */

static enum pi_status load(struct buf *out, int fd, off_t size, struct cancel *cancel,
                           struct pi_error *err)
{
    // One byte more than the size, so that the end is seen without growing.
    if (!buf_reserve(out, (size_t)size + 1)) {
        return error_nomem(err);
    }
    for (;;) {
        size_t got = 0;
        enum pi_status status = cancel_check(cancel, err);
        if (status != PI_OK) {
            return status;
        }
        if ((off_t)out->len > MAX_SNAPSHOT) {
            return error_set(err, PI_LIMIT,
                             "it is larger than 1 GiB; change it with a "
                             "command such as sed");
        }
        size_t room = out->cap - out->len - 1;
        size_t want = room > 0 && room < LOAD_PIECE ? room : LOAD_PIECE;
        if (!buf_reserve(out, want)) {
            return error_nomem(err);
        }
        status = file_read(fd, out->data + out->len, want, &got, err);
        if (status != PI_OK) {
            return status;
        }
        out->len += got;
        out->data[out->len] = '\0';
        if (got < want) {
            return PI_OK;
        }
    }
}

static enum pi_status decode(struct host_snapshot *s, struct pi_error *err)
{
    s->encoding = encoding_of(buf_sv(&s->text));
    if (s->encoding == HOST_BYTES) {
        return PI_OK;
    }
    struct buf text = {0};
    enum pi_status status = encoding_decode(&text, s->encoding, buf_sv(&s->text), err);
    buf_finish(&s->text);
    s->text = text;
    return status;
}

static enum pi_status snapshot_file(struct host_snapshot *s, int fd,
                                    const struct stat *st, struct cancel *cancel,
                                    struct pi_error *err)
{
    s->stamp = file_stamp_of(st);
    if (st->st_size > MAX_SNAPSHOT) {
        return error_set(err, PI_LIMIT,
                         "it is larger than 1 GiB; change it with a "
                         "command such as sed");
    }
    enum pi_status status = load(&s->text, fd, st->st_size, cancel, err);
    return status == PI_OK ? decode(s, err) : status;
}

static enum pi_status posix_snapshot(struct host *h UNUSED,
                                     const struct host_target *target,
                                     struct host_snapshot *out, struct cancel *cancel,
                                     struct pi_error *err)
{
    struct host_snapshot s = {0};
    struct pi_error cause = {0};
    struct stat st;
    int fd = -1;
    char *left = NULL;
    enum pi_status status = cancel_check(cancel, err);
    if (status != PI_OK) {
        return status;
    }
    status = file_open_regular(&fd, target->path, &st, err);
    if (status == PI_NOT_FOUND) {
        *out = (struct host_snapshot){.is_new = true};
        return PI_OK;
    }
    if (status != PI_OK) {
        return status;
    }
    left = safety_find(target->path);
    if (left) {
        status = safety_error(err, target->path, left);
        goto out;
    }
    status = snapshot_file(&s, fd, &st, cancel, &cause);
    if (status == PI_ABORTED) {
        (void)cancel_check(cancel, err);
    } else if (status != PI_OK) {
        (void)error_set(err, status, "cannot read %s: %s", target->path, cause.message);
    } else {
        *out = s;
        s = (struct host_snapshot){0};
    }
out:
    free(left);
    host_snapshot_finish(&s);
    file_close(&fd);
    return status;
}

/* --------------------------------------------------------------------------- apply -- */

// A file that may not be written is not replaced either, though its folder would let us.
static enum pi_status check_writable(const char *path, const struct stat *st,
                                     struct pi_error *err)
{
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0) {
        return PI_OK;
    }
    switch (errno) {
    case EROFS:
        return error_set(err, PI_DENIED,
                         "%s lies on a read-only file system. Nothing was changed.",
                         path);
    case EACCES:
        return error_set(err, PI_DENIED,
                         "no permission to write %s: it is read-only for this user (mode "
                         "%04o, owner %u). Nothing was changed; ask the user before "
                         "changing its mode.",
                         path, (unsigned)(st->st_mode & 07777), (unsigned)st->st_uid);
    case EPERM:
        return error_set(err, PI_DENIED,
                         "no permission to write %s: it is marked immutable. Nothing was "
                         "changed; ask the user.",
                         path);
    case ENOENT:
        return disk_stale(path, err);
    default:
        return error_errno(err, errno, "cannot look at %s", path);
    }
}

static enum pi_status change_file(const struct disk_change *c, struct file_stamp *after,
                                  struct pi_error *err)
{
    struct stat st;
    int fd = -1;
    enum pi_status status = file_open_regular(&fd, c->path, &st, err);
    if (status != PI_OK) {
        return status == PI_NOT_FOUND ? disk_stale(c->path, err) : status;
    }
    struct file_stamp now = file_stamp_of(&st);
    status = file_stamp_eq(&now, &c->stamp) ? PI_OK : disk_stale(c->path, err);
    if (status == PI_OK) {
        status = check_writable(c->path, &st, err);
    }
    if (status == PI_OK) {
        struct pi_error cause = {0};
        status =
            st.st_nlink == 1 ? disk_replace(c, fd, &st, after, &cause) : PI_UNSUPPORTED;
        if (status == PI_UNSUPPORTED) {
            status = disk_write_in_place(c, after, &cause);
        }
        if (status != PI_OK) {
            cause.code = status;
            (void)disk_failed(&cause, c->path, err);
        }
    }
    file_close(&fd);
    return status;
}

static enum pi_status create_file(const struct disk_change *c, struct file_stamp *after,
                                  struct pi_error *err)
{
    struct pi_error cause = {0};
    enum pi_status status = disk_create(c, after, &cause);
    if (status != PI_OK) {
        (void)disk_failed(&cause, c->path, err);
    }
    return status;
}

static enum pi_status posix_apply(struct host *h UNUSED, const struct host_target *target,
                                  const struct host_snapshot *snapshot,
                                  const struct host_change *changes, size_t len,
                                  struct host_hold *hold UNUSED,
                                  struct host_applied *applied, struct cancel *cancel,
                                  struct pi_error *err)
{
    struct encoded e;
    enum pi_status status = cancel_check(cancel, err);
    if (status == PI_OK) {
        status = encoded_init(&e, snapshot, changes, len, err);
    }
    if (status != PI_OK) {
        return status;
    }
    struct disk_change c = {
        .path = target->path,
        .old = e.old,
        .changes = e.changes,
        .len = e.len,
        .stamp = snapshot->stamp,
        .cancel = cancel,
    };
    *applied = (struct host_applied){0};
    status = snapshot->is_new ? create_file(&c, &applied->stamp, err)
                              : change_file(&c, &applied->stamp, err);
    applied->saved = status == PI_OK;
    encoded_finish(&e);
    return status;
}

static const struct host_ops posix_ops = {
    .read = posix_read,
    .snapshot = posix_snapshot,
    .apply = posix_apply,
};

struct host *host_posix(void)
{
    static struct host posix = {.ops = &posix_ops};
    return &posix;
}
