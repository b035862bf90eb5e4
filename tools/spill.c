#include "spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/guard.h"

enum { KEEP_S = 7 * 24 * 3600 };

enum pi_status spill_init(struct spill *s, const char *dir, struct pi_error *err)
{
    *s = (struct spill){.fd = -1};
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        // The file is created with O_EXCL, so the number need not be a secret.
        number = (uint64_t)clock_unix_ms() << 20 ^ (uint64_t)(uintptr_t)s;
    }
    struct buf path = {0};
    buf_addf(&path, "%s/pi-bash-%016" PRIx64 ".log", dir, number);
    s->path = buf_take(&path);
    return s->path ? PI_OK : error_nomem(err);
}

static void close_file(struct spill *s)
{
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}

void spill_finish(struct spill *s)
{
    if (s && s->path) {
        close_file(s);
        free(s->path);
        s->path = NULL;
    }
}

static void stop(struct spill *s, int errnum, const char *what)
{
    struct pi_error err;
    s->stopped = true;
    if (errnum) {
        error_errno(&err, errnum, "%s", what);
    } else {
        error_set(&err, PI_LIMIT, "%s", what);
    }
    snprintf(s->problem, sizeof s->problem, "%.*s", (int)sizeof s->problem - 1,
             err.message);
    close_file(s);
}

static bool is_log_name(const char *name)
{
    static const char prefix[] = "pi-bash-";
    const size_t digits = 16;
    size_t n = sizeof prefix - 1;
    return strncmp(name, prefix, n) == 0 &&
           strspn(name + n, "0123456789abcdef") == digits &&
           strcmp(name + n + digits, ".log") == 0;
}

// Logs are of use for a while after their session; nobody else takes them away.
static void remove_old_logs(const char *dir)
{
    DIR *folder = opendir(dir);
    if (!folder) {
        return;
    }
    int64_t oldest = clock_unix_ms() / 1000 - KEEP_S;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;
        if (is_log_name(entry->d_name) &&
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_mtime < oldest) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    closedir(folder);
}

static int open_new(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                0600);
}

static void create(struct spill *s)
{
    char *slash = strrchr(s->path, '/');
    s->fd = open_new(s->path);
    int errnum = errno;
    *slash = 0;
    if (s->fd >= 0) {
        remove_old_logs(s->path);
    } else if (errnum == ENOENT && mkdir(s->path, 0700) == 0) {
        // The folder for temporary files went away, or nobody made it yet.
        *slash = '/';
        s->fd = open_new(s->path);
        errnum = errno;
    }
    *slash = '/';
    s->created = s->fd >= 0;
    if (s->fd < 0) {
        stop(s, errnum, "cannot create the file");
    }
}

void spill_write(struct spill *s, struct sv bytes)
{
    if (!s->created && !s->stopped) {
        create(s);
    }
    while (bytes.n > 0 && !s->stopped) {
        if (s->room == 0) {
            s->room = log_room(s->fd, s->size);
        }
        size_t n = bytes.n < (size_t)s->room ? bytes.n : (size_t)s->room;
        if (n == 0) {
            stop(s, 0, "it reached the limit for its size or the disk is nearly full");
            return;
        }
        ssize_t written = write(s->fd, bytes.p, n);
        if (written > 0) {
            s->size += written;
            s->room -= written;
            bytes = sv_from(bytes, (size_t)written);
        } else if (errno != EINTR) {
            stop(s, errno, "cannot write the file");
        }
    }
}

void spill_remove(struct spill *s)
{
    close_file(s);
    if (s->created) {
        unlink(s->path);
        s->created = false;
    }
}
