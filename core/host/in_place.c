#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host/disk.h"
#include "host/safety.h"

static enum pi_status open_for_change(const struct disk_change *c, int *fd,
                                      struct stat *st, struct pi_error *err)
{
    enum { FLAGS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
    do {
        *fd = open(c->path, FLAGS);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0 && errno == EPERM) {
        return error_set(
            err, PI_DENIED,
            "it may only be appended to (chattr +a); append with bash, or ask "
            "the user");
    }
    if (*fd < 0) {
        return error_errno(err, errno, "cannot open it for writing");
    }
    if (fstat(*fd, st) != 0) {
        return error_errno(err, errno, "cannot look at it");
    }
    struct file_stamp now = file_stamp_of(st);
    return file_stamp_eq(&now, &c->stamp) ? PI_OK : disk_stale(c->path, err);
}

// Finds out that there is no room before the file is touched.
static enum pi_status reserve(const struct disk_change *c, int fd, struct pi_error *err)
{
    size_t size = disk_new_size(c);
    enum pi_status status = disk_room(size, err);
    if (status != PI_OK || size <= c->old.n) {
        return status;
    }
    int r;
    do {
        r = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)c->old.n, (off_t)(size - c->old.n));
    } while (r != 0 && errno == EINTR);
    if (r == 0 || errno == EOPNOTSUPP || errno == ENOSYS) {
        return PI_OK;
    }
    int why = errno;
    if (ftruncate(fd, (off_t)c->old.n) != 0) { // gives back a part that was reserved
        errno = 0;
    }
    return error_errno(err, why, "no room for %zu bytes more", size - c->old.n);
}

static enum pi_status set_size(int fd, size_t size, struct pi_error *err)
{
    int r;
    do {
        r = ftruncate(fd, (off_t)size);
    } while (r != 0 && errno == EINTR);
    return r == 0 ? PI_OK : error_errno(err, errno, "cannot set its length");
}

static enum pi_status seek(int fd, size_t at, struct pi_error *err)
{
    return lseek(fd, (off_t)at, SEEK_SET) >= 0
               ? PI_OK
               : error_errno(err, errno, "cannot go to byte %zu", at);
}

// The point of no return has passed: no look at the cancel token from here on.
static enum pi_status overwrite(const struct disk_change *c, int fd, struct pi_error *err)
{
    size_t size = disk_new_size(c);
    enum pi_status status = seek(fd, disk_first(c), err);
    if (status == PI_OK) {
        status = disk_write(c, fd, disk_first(c), disk_last(c), NULL, err);
    }
    if (status == PI_OK && size < c->old.n) {
        status = set_size(fd, size, err);
    }
    if (status == PI_OK) {
        status = file_sync(fd, err);
    }
    return status;
}

static enum pi_status put_back(const struct disk_change *c, int fd)
{
    size_t first = disk_first(c);
    enum pi_status status = seek(fd, first, NULL);
    if (status == PI_OK) {
        struct sv rest = sv_from(c->old, first);
        status = file_write(fd, rest.p, rest.n, NULL);
    }
    if (status == PI_OK) {
        status = set_size(fd, c->old.n, NULL);
    }
    if (status == PI_OK) {
        status = file_sync(fd, NULL);
    }
    return status;
}

// Writes, with the safety copy standing by; afterwards it is removed or left.
static enum pi_status change_safely(const struct disk_change *c, int fd,
                                    struct safety *safety, struct pi_error *err)
{
    struct pi_error cause = {0};
    enum pi_status status = overwrite(c, fd, &cause);
    if (status == PI_OK || put_back(c, fd) == PI_OK) {
        safety_remove(safety);
        if (err && status != PI_OK) {
            *err = cause;
        }
        return status;
    }
    status =
        error_set(err, PI_CONFLICT,
                  "writing %s failed half way (%s), and so did putting its content "
                  "back. The old content is in %s; restore it with cp when the cause "
                  "is mended.",
                  c->path, cause.message, safety->path);
    safety_leave(safety);
    return status;
}

enum pi_status disk_write_in_place(const struct disk_change *c, struct file_stamp *after,
                                   struct pi_error *err)
{
    struct safety safety = {.fd = -1};
    struct stat st = {0};
    int fd = -1;
    enum pi_status status = open_for_change(c, &fd, &st, err);
    if (status == PI_OK) {
        status = safety_make(&safety, c->path, &st, c->old, err);
    }
    if (status == PI_OK) {
        status = disk_unchanged(c, fd, err);
    }
    if (status == PI_OK) {
        status = cancel_check(c->cancel, err);
    }
    if (status == PI_OK) {
        status = reserve(c, fd, err);
    }
    if (status == PI_OK) {
        status = change_safely(c, fd, &safety, err);
    }
    safety_remove(&safety);
    if (status == PI_OK) {
        // Writing drops the set-id bits.
        if ((st.st_mode & 06000) != 0 && fchmod(fd, st.st_mode & 07777) != 0) {
            errno = 0;
        }
        if (fstat(fd, &st) == 0) {
            *after = file_stamp_of(&st);
        }
    }
    file_close(&fd);
    return status;
}
