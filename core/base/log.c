#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"

enum { SECRET_MIN = 8 };

struct log {
    int fd;
    bool silent;
    pthread_mutex_t lock; // of the secrets
    char **secrets;       // longest first, since one may contain another
    size_t len, cap;
};

enum pi_status log_open(struct log **out, const char *path, struct pi_error *err)
{
    struct log *l = calloc(1, sizeof *l);
    if (!l) {
        return error_nomem(err);
    }
    // O_NONBLOCK: a FIFO without a reader must not stop the editor around us.
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    l->fd = open(path, flags, 0600);
    if (l->fd < 0) {
        int errnum = errno;
        free(l);
        return error_errno(err, errnum, "Cannot open the log file %s", path);
    }
    pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return PI_OK;
}

void log_close(struct log *l)
{
    if (!l) {
        return;
    }
    close(l->fd);
    pthread_mutex_destroy(&l->lock);
    for (size_t i = 0; i < l->len; i++) {
        free(l->secrets[i]);
    }
    free(l->secrets);
    free(l);
}

// Puts secret (taken over) at its place; false without memory.
static bool add_secret(struct log *l, char *secret)
{
    char **secrets = vec_grow(l->secrets, &l->cap, l->len + 1, sizeof *secrets);
    if (!secrets) {
        return false;
    }
    l->secrets = secrets;
    size_t at = l->len++;
    while (at > 0 && strlen(secrets[at - 1]) < strlen(secret)) {
        secrets[at] = secrets[at - 1];
        at--;
    }
    secrets[at] = secret;
    return true;
}

static bool has_secret(const struct log *l, const char *secret)
{
    for (size_t i = 0; i < l->len; i++) {
        if (strcmp(l->secrets[i], secret) == 0) {
            return true;
        }
    }
    return false;
}

void log_redact(struct log *l, const char *secret)
{
    if (!l || !secret || strlen(secret) < SECRET_MIN) {
        return;
    }
    pthread_mutex_lock(&l->lock);
    if (!has_secret(l, secret)) {
        char *copy = strdup(secret);
        if (!copy || !add_secret(l, copy)) {
            l->silent = true; // what cannot be hidden must not be written
            free(copy);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

static void remove_secret(struct buf *text, const char *secret)
{
    size_t n = strlen(secret);
    struct sv rest = buf_sv(text);
    const char *hit = rest.n ? memmem(rest.p, rest.n, secret, n) : NULL;
    if (!hit) {
        return;
    }
    struct buf clean = {0};
    for (; hit; hit = memmem(rest.p, rest.n, secret, n)) {
        size_t before = (size_t)(hit - rest.p);
        buf_add(&clean, rest.p, before);
        buf_adds(&clean, "[redacted]");
        rest = sv_from(rest, before + n);
    }
    buf_addsv(&clean, rest);
    buf_finish(text);
    *text = clean;
}

static void add_escaped(struct buf *line, struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c == '\n') {
            buf_adds(line, "\\n");
        } else if (c < 0x20 || c == 0x7f) {
            buf_addf(line, "\\x%02x", c);
        } else {
            buf_addc(line, (char)c);
        }
    }
}

static void add_time(struct buf *line)
{
    struct timespec now;
    struct tm utc;
    char text[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc)) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    }
    buf_addf(line, "%s.%03ldZ", text, now.tv_nsec / 1000000);
}

void log_line(struct log *l, const char *format, ...)
{
    if (!l) {
        return;
    }
    struct buf text = {0};
    struct buf line = {0};
    va_list args;
    va_start(args, format);
    buf_vaddf(&text, format, args);
    va_end(args);

    pthread_mutex_lock(&l->lock);
    bool silent = l->silent;
    for (size_t i = 0; i < l->len; i++) {
        remove_secret(&text, l->secrets[i]);
    }
    pthread_mutex_unlock(&l->lock);

    add_time(&line);
    buf_addf(&line, " [%ld] ", (long)gettid());
    add_escaped(&line, buf_sv(&text));
    buf_addc(&line, '\n');
    if (!silent && buf_ok(&text) && buf_ok(&line)) {
        // Nobody can be told when the log itself cannot be written.
        ssize_t written = write(l->fd, line.data, line.len);
        (void)written;
    }
    buf_finish(&text);
    buf_finish(&line);
}
