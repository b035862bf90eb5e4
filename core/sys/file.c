#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/path.h"

enum { PIECE = 64 * 1024 };

// One system call moves at most this much on Linux; more is cut there, too.
#define MAX_COUNT ((size_t)0x7ffff000)

static int open_again(const char *path, int flags)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

// Opens what handle (O_PATH) stands for. Without /proc the path is opened once more, and
// must still lead to the same file.
static int reopen(int handle, const char *path, const struct stat *was)
{
    enum { FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY };
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    int fd = open_again(link, FLAGS);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    struct stat st;
    fd = open_again(path, FLAGS);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_dev != was->st_dev ||
                    st.st_ino != was->st_ino || !S_ISREG(st.st_mode))) {
        file_close(&fd);
        errno = ENOENT;
    }
    return fd;
}

enum pi_status file_open_regular(int *fd, const char *path, struct stat *st,
                                 struct pi_error *err)
{
    struct stat own;
    int opened = -1;
    int handle = open_again(path, O_PATH);
    if (handle < 0 || fstat(handle, &own) != 0) {
        goto failed;
    }
    if (!S_ISREG(own.st_mode)) {
        file_close(&handle);
        return error_set(err, PI_INVALID, "%s is a %s, not a regular file", path,
                         file_kind_name(own.st_mode));
    }
    opened = reopen(handle, path, &own);
    if (opened < 0 || fstat(opened, &own) != 0) {
        goto failed;
    }
    file_close(&handle);
    if (st) {
        *st = own;
    }
    *fd = opened;
    return PI_OK;
failed:;
    int why = errno;
    file_close(&opened);
    file_close(&handle);
    if (why == ENOTDIR) {
        return error_set(err, PI_IO,
                         "cannot open %s: a part of the path is a file, not a folder",
                         path);
    }
    return error_errno(err, why, "cannot open %s", path);
}

enum pi_status file_read(int fd, void *bytes, size_t n, size_t *got, struct pi_error *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < MAX_COUNT ? n - done : MAX_COUNT;
        ssize_t r = read(fd, (char *)bytes + done, want);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r < 0) {
            return error_errno(err, errno, "reading failed");
        }
        if (r == 0) {
            break;
        }
        done += (size_t)r;
    }
    *got = done;
    return PI_OK;
}

enum pi_status file_pread(int fd, void *bytes, size_t n, off_t at, size_t *got,
                          struct pi_error *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < MAX_COUNT ? n - done : MAX_COUNT;
        ssize_t r = pread(fd, (char *)bytes + done, want, at + (off_t)done);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r < 0) {
            return error_errno(err, errno, "reading failed");
        }
        if (r == 0) {
            break;
        }
        done += (size_t)r;
    }
    *got = done;
    return PI_OK;
}

enum pi_status file_write(int fd, const void *bytes, size_t n, struct pi_error *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < MAX_COUNT ? n - done : MAX_COUNT;
        ssize_t r = write(fd, (const char *)bytes + done, want);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r <= 0) {
            return error_errno(err, r < 0 ? errno : EIO, "writing failed");
        }
        done += (size_t)r;
    }
    return PI_OK;
}

enum pi_status file_sync(int fd, struct pi_error *err)
{
    int r;
    do {
        r = fsync(fd);
    } while (r != 0 && errno == EINTR);
    // A file system that cannot sync has nothing to lose by it.
    if (r != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
        return error_errno(err, errno, "writing to the disk failed");
    }
    return PI_OK;
}

enum pi_status file_load(struct buf *out, const char *path, size_t max,
                         struct pi_error *err)
{
    int fd = -1;
    struct stat st = {0};
    enum pi_status status = file_open_regular(&fd, path, &st, err);
    if (status != PI_OK) {
        return status;
    }
    size_t start = out->len;
    size_t expected =
        st.st_size > 0 && (uintmax_t)st.st_size < max ? (size_t)st.st_size : 0;
    for (;;) {
        size_t got = 0, piece = expected > PIECE ? expected : PIECE;
        // Files of /proc say size 0, so only a read that comes back short is the end.
        if (!buf_reserve(out, piece)) {
            status = error_nomem(err);
            break;
        }
        status = file_read(fd, out->data + out->len, piece, &got, err);
        if (status != PI_OK) {
            break;
        }
        out->len += got;
        out->data[out->len] = '\0';
        if (out->len - start > max) {
            status = error_set(err, PI_LIMIT, "%s is larger than %zu bytes", path, max);
            break;
        }
        if (got < piece) {
            break;
        }
        expected = 0;
    }
    if (status != PI_OK) {
        buf_truncate(out, start);
    }
    file_close(&fd);
    return status;
}

// Length of the longest leading part of dir that exists; it must be a folder.
static enum pi_status existing_part(char *dir, size_t *length, struct pi_error *err)
{
    size_t n = strlen(dir);
    struct stat st;
    for (;;) {
        char kept = dir[n];
        dir[n] = '\0';
        int r = stat(n > 0 ? dir : "/", &st);
        int why = errno;
        if (r == 0 && !S_ISDIR(st.st_mode)) {
            return error_set(err, PI_INVALID, "%s is a %s, not a directory", dir,
                             file_kind_name(st.st_mode));
        }
        if (r != 0 && why != ENOENT && why != ENOTDIR) {
            return error_errno(err, why, "cannot look at the directory %s", dir);
        }
        dir[n] = kept;
        if (r == 0 || n == 0) {
            *length = n;
            return PI_OK;
        }
        do {
            n--;
        } while (n > 0 && dir[n] != '/');
        if (n == 0 && dir[0] != '/') {
            *length = 0;
            return PI_OK;
        }
    }
}

enum pi_status file_make_dirs(const char *dir, mode_t mode, struct pi_error *err)
{
    char *path = strdup(dir);
    if (!path) {
        return error_nomem(err);
    }
    size_t n = strlen(path), at = 0;
    enum pi_status status = existing_part(path, &at, err);
    while (status == PI_OK && at < n) {
        at += strspn(path + at, "/");
        at += strcspn(path + at, "/");
        char kept = path[at];
        path[at] = '\0';
        struct stat st;
        if (mkdir(path, mode) != 0 &&
            !(errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
            status = error_errno(err, errno, "cannot create the directory %s", path);
        }
        path[at] = kept;
    }
    free(path);
    return status;
}

enum pi_status file_sync_dir(const char *dir, struct pi_error *err)
{
    int fd = open_again(dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        // A folder that may not be read can still be changed, but not synced.
        bool cannot = errno == EACCES || errno == EPERM || errno == ENOTSUP;
        return cannot ? PI_OK : error_errno(err, errno, "cannot open %s", dir);
    }
    enum pi_status status = file_sync(fd, err);
    file_close(&fd);
    return status;
}

const char *file_kind_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "regular file";
    case S_IFDIR:
        return "directory";
    case S_IFIFO:
        return "FIFO";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "character device";
    case S_IFBLK:
        return "block device";
    case S_IFLNK:
        return "symbolic link";
    default:
        return "special file";
    }
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *st)
{
    return (struct file_stamp){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .mtime_ns = nanoseconds(st->st_mtim),
        .ctime_ns = nanoseconds(st->st_ctim),
    };
}

bool file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

void file_close(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        // Never again on EINTR: Linux has closed the descriptor by then.
        (void)close(*fd);
        errno = saved;
        *fd = -1;
    }
}
