#include "host/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "text/utf8.h"

enum { MAX_NAME = 255, SUFFIX = 6, TRIES = 100 };

char *temp_name(const char *dir, const char *name, const char *suffix)
{
    struct sv shown = sv_of(name);
    size_t room = MAX_NAME - 1 - strlen(suffix);
    struct buf b = {0};
    buf_adds(&b, dir);
    if (b.len == 0 || b.data[b.len - 1] != '/') {
        buf_addc(&b, '/');
    }
    buf_addc(&b, '.');
    buf_add(&b, shown.p, shown.n <= room ? shown.n : utf8_floor(shown, room));
    buf_adds(&b, suffix);
    return buf_take(&b);
}

static void random_suffix(char out[SUFFIX + 1])
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[SUFFIX];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        // Early after boot; O_EXCL makes a poor suffix harmless.
        uint64_t mix = (uint64_t)clock_unix_ms() * 2654435761U + (uint64_t)getpid();
        memcpy(bytes, &mix, sizeof bytes);
    }
    for (int i = 0; i < SUFFIX; i++) {
        out[i] = digits[bytes[i] % (sizeof digits - 1)];
    }
    out[SUFFIX] = '\0';
}

static char *random_name(const char *dir, const char *name)
{
    char suffix[sizeof ".pi-" + SUFFIX] = ".pi-";
    random_suffix(suffix + strlen(suffix));
    return temp_name(dir, name, suffix);
}

enum pi_status temp_create(struct temp_file *t, const char *dir, const char *name,
                           mode_t mode, int *errnum)
{
    enum { FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    *errnum = 0;
    for (int i = 0; i < TRIES; i++) {
        char *path = random_name(dir, name);
        if (!path) {
            return PI_NOMEM;
        }
        int fd = open(path, FLAGS, mode);
        if (fd >= 0) {
            *t = (struct temp_file){.path = path, .fd = fd};
            return PI_OK;
        }
        *errnum = errno;
        free(path);
        if (*errnum == ENAMETOOLONG && name[0] != '\0') {
            name = ""; // some file systems allow less than 255 bytes
        } else if (*errnum != EEXIST && *errnum != EINTR) {
            break;
        }
    }
    return PI_IO;
}

void temp_kept(struct temp_file *t)
{
    free(t->path);
    t->path = NULL;
    file_close(&t->fd);
}

void temp_discard(struct temp_file *t)
{
    if (t->path) {
        (void)unlink(t->path);
    }
    temp_kept(t);
}
