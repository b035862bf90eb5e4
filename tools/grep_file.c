#include "grep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/file.h"
#include "utf16.h"

// Larger files are judged by their start before they are read, and one at a time is in
// memory. One that is read from a file system that is gone may stay there for ever, so
// nobody waits for it longer than this.
enum { TEXT_SNIFF = 512, LARGE = 256 * 1024, PATIENCE_MS = 5000, SLICE_MS = 100 };

static pthread_mutex_t one_large_file = PTHREAD_MUTEX_INITIALIZER;

void grep_file_finish(struct grep_file *f)
{
    grep_finish(&f->grep);
    buf_finish(&f->bytes);
    buf_finish(&f->utf8);
}

bool grep_file_is_over(const struct grep_file *f)
{
    return f->grep.more || f->grep.complex >= GREP_COMPLEX_MAX;
}

// Text shows itself in a few bytes when none of the first ones is NUL; this is done for
// every file of a tree.
static struct file_type type_of(struct sv bytes)
{
    struct sv start = sv_sub(bytes, 0, FILE_TYPE_SNIFF);
    bool nul = start.n > 0 && memchr(start.p, '\0', start.n);
    return file_type_of(nul ? start : sv_sub(start, 0, TEXT_SNIFF));
}

static enum pi_status search(struct grep_file *f, struct sv name, struct pi_error *err)
{
    struct sv bytes = buf_sv(&f->bytes);
    if (f->type.binary) {
        f->counts.binary++;
        return PI_OK;
    }
    f->counts.files++;
    if (f->type.encoding == TEXT_UTF8) {
        return grep_text(&f->grep, name, bytes, err);
    }
    struct utf16_stream utf16 = {.big_endian = f->type.encoding == TEXT_UTF16_BE};
    buf_clear(&f->utf8);
    utf16_feed(&utf16, &f->utf8, bytes);
    utf16_end(&utf16, &f->utf8);
    return buf_ok(&f->utf8) ? grep_text(&f->grep, name, buf_sv(&f->utf8), err)
                            : error_nomem(err);
}

enum pi_status grep_file_bytes(struct grep_file *f, struct sv name, struct pi_error *err)
{
    f->type = type_of(buf_sv(&f->bytes));
    return search(f, name, err);
}

// Reads on until the end or the cap. False for an error.
static bool read_more(struct grep_file *f, int fd, size_t want)
{
    size_t got = 0;
    if (!buf_reserve(&f->bytes, want) ||
        file_read(fd, f->bytes.data + f->bytes.len, want, &got, NULL) != PI_OK) {
        return false;
    }
    f->bytes.len += got;
    f->bytes.data[f->bytes.len] = '\0';
    return true;
}

// Files that do not tell their size (of the kernel) are read up to FILE_TYPE_SNIFF.
static bool load(struct grep_file *f, int fd, size_t size)
{
    size_t start = size > 0 && size <= LARGE ? size : FILE_TYPE_SNIFF;
    buf_clear(&f->bytes);
    if (!read_more(f, fd, start)) {
        return false;
    }
    f->type = type_of(buf_sv(&f->bytes));
    bool all = f->bytes.len < start || size <= start;
    return all || f->type.binary || read_more(f, fd, size - start);
}

// False when the search goes on beside another large file.
static bool take_turn(struct grep_file *f)
{
    const struct cancel *cancel = f->grep.cancel;
    for (int ms = 0; ms < PATIENCE_MS && !f->impatient && !cancel_is_set(cancel);
         ms += SLICE_MS) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SLICE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_mutex_timedlock(&one_large_file, &until) == 0) {
            return true;
        }
    }
    f->impatient = true;
    return false;
}

static enum pi_status search_open(struct grep_file *f, int fd, size_t size,
                                  struct sv path, struct pi_error *err)
{
    bool large = size > LARGE;
    bool turn = large && take_turn(f);
    enum pi_status st = cancel_check(f->grep.cancel, err);
    if (st != PI_OK) {
        // It may have been set while another file was waited for.
    } else if (load(f, fd, size)) {
        st = search(f, path, err);
    } else {
        st = buf_ok(&f->bytes) ? PI_OK : error_nomem(err);
        f->counts.unreadable++;
    }
    if (large) {
        buf_finish(&f->bytes);
        buf_finish(&f->utf8);
    }
    if (turn) {
        pthread_mutex_unlock(&one_large_file);
    }
    return st;
}

enum pi_status grep_file_at(struct grep_file *f, int folder, const char *name,
                            const char *path, struct pi_error *err)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(folder, name, flags);
    struct stat st;
    enum pi_status status = PI_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        f->counts.unreadable += errno != ENOENT; // what vanished is not missed
    } else if (!S_ISREG(st.st_mode)) {
        f->counts.unreadable++;
    } else if (st.st_size > GREP_FILE_MAX) {
        f->counts.large++;
    } else {
        status = search_open(f, fd, (size_t)st.st_size, sv_of(path), err);
    }
    file_close(&fd);
    return status;
}
