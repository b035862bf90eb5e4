#include "session/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/lock_owner.h"
#include "sys/file.h"
#include "sys/path.h"

// The system's header of this name is hidden by our own sys/file.h.
int flock(int fd, int operation);

enum { OPEN_TRIES = 4, READ_PIECE = 64 * 1024 };

struct journal {
    int fd;
    char *path;
    uint64_t end;          // bytes in the file after our last look at it
    bool torn;             // the last line has no LF
    bool created;          // by us: its name is not yet durable
    bool dirty;            // something was appended since the last sync
    const char *read_only; // why; NULL = records can be appended
};

static struct journal *make(const char *path)
{
    struct journal *j = calloc(1, sizeof *j);
    if (j) {
        j->fd = -1;
        j->path = strdup(path);
    }
    if (j && !j->path) {
        free(j);
        return NULL;
    }
    return j;
}

void journal_close(struct journal *j)
{
    if (!j) {
        return;
    }
    if (j->created && j->end == 0) {
        (void)unlink(j->path);
    }
    file_close(&j->fd);
    free(j->path);
    free(j);
}

const char *journal_read_only(const struct journal *j)
{
    return j->read_only;
}

uint64_t journal_size(const struct journal *j)
{
    return j->end;
}

/* -- opening -- */

// 0, EWOULDBLOCK, or 0 where locks are unknown.
static int take_lock(int fd)
{
    int r;
    do {
        r = flock(fd, LOCK_EX | LOCK_NB);
    } while (r != 0 && errno == EINTR);
    return r != 0 && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

enum pi_status journal_create(struct journal **out, const char *path,
                              struct pi_error *err)
{
    char *dir = path_dir(path);
    struct journal *j = make(path);
    enum pi_status status = dir && j ? file_make_dirs(dir, 0700, err) : error_nomem(err);
    free(dir);
    if (status) {
        journal_close(j);
        return status;
    }
    j->fd =
        open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (j->fd < 0) {
        status = error_errno(err, errno, "cannot create %s", path);
        journal_close(j);
        return status;
    }
    if (take_lock(j->fd) != 0) {
        status = error_set(err, PI_BUSY, "another process opened %s at once", path);
        journal_close(j);
        return status;
    }
    j->created = true;
    *out = j;
    return PI_OK;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Opens once more for writing what fd reads. False: it can only be read, *why says why.
static bool open_for_writing(struct journal *j, const struct stat *was, const char **why)
{
    struct stat st;
    int fd = open(j->path, O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        *why = errno == EROFS ? "its file system is read-only"
                              : "there is no permission to write to it";
        return false;
    }
    if (fstat(fd, &st) != 0 || !same_file(was, &st)) {
        file_close(&fd);
        *why = NULL;
        return false;
    }
    file_close(&j->fd);
    j->fd = fd;
    return true;
}

// One try; PI_STALE: another file got the name meanwhile.
static enum pi_status open_once(struct journal *j, struct journal_owner *owner,
                                struct pi_error *err)
{
    struct stat st;
    struct stat now;
    j->read_only = owner ? NULL : "it was opened for reading";
    enum pi_status status = file_open_regular(&j->fd, j->path, &st, err);
    if (status || !owner) {
        return status;
    }
    *owner = (struct journal_owner){0};
    if (!open_for_writing(j, &st, &j->read_only)) {
        return j->read_only ? PI_OK : PI_STALE;
    }
    if (take_lock(j->fd) != 0) {
        owner->other = true;
        owner->pid = lock_owner(&st);
        j->read_only = "another process writes to it";
        return PI_OK;
    }
    // The lock is worth something only on the file that has the name now.
    return stat(j->path, &now) == 0 && same_file(&st, &now) ? PI_OK : PI_STALE;
}

// Looks at the end of the file: its size, and whether the last line is whole.
static enum pi_status look_at_end(struct journal *j, const struct stat *st,
                                  struct pi_error *err)
{
    char last = '\n';
    size_t got = 0;
    if (st->st_size > 0) {
        enum pi_status status = file_pread(j->fd, &last, 1, st->st_size - 1, &got, err);
        if (status) {
            return status;
        }
    }
    j->end = (uint64_t)st->st_size;
    j->torn = last != '\n';
    return PI_OK;
}

enum pi_status journal_open(struct journal **out, struct journal_owner *owner,
                            const char *path, struct pi_error *err)
{
    struct journal *j = make(path);
    if (!j) {
        return error_nomem(err);
    }
    enum pi_status status = PI_STALE;
    for (int i = 0; i < OPEN_TRIES && status == PI_STALE; i++) {
        file_close(&j->fd);
        status = open_once(j, owner, err);
    }
    struct stat st;
    if (status == PI_STALE) {
        status = error_set(err, PI_IO, "%s is replaced again and again", path);
    }
    if (!status && fstat(j->fd, &st) != 0) {
        status = error_errno(err, errno, "cannot look at %s", path);
    }
    if (!status) {
        status = look_at_end(j, &st, err);
    }
    if (status) {
        journal_close(j);
        return status;
    }
    *out = j;
    return PI_OK;
}

/* -- appending -- */

// Others may have appended without knowing of our lock.
static enum pi_status look_again(struct journal *j, struct pi_error *err)
{
    struct stat st;
    if (fstat(j->fd, &st) != 0) {
        return error_errno(err, errno, "cannot look at %s", j->path);
    }
    if (st.st_nlink == 0) {
        return error_set(err, PI_NOT_FOUND, "%s was deleted", j->path);
    }
    return (uint64_t)st.st_size == j->end ? PI_OK : look_at_end(j, &st, err);
}

// Takes back the part of a record that was written, unless somebody wrote behind it.
static void take_back(struct journal *j, size_t written)
{
    struct stat st;
    bool ours = fstat(j->fd, &st) == 0 && (uint64_t)st.st_size == j->end + written;
    if (written > 0 && (!ours || ftruncate(j->fd, (off_t)j->end) != 0)) {
        j->torn = true;
        j->end += written;
    }
}

static enum pi_status write_record(struct journal *j, struct sv bytes,
                                   struct pi_error *err)
{
    size_t done = 0;
    while (done < bytes.n) {
        ssize_t r = write(j->fd, bytes.p + done, bytes.n - done);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r <= 0) {
            enum pi_status status =
                error_errno(err, r < 0 ? errno : EIO, "cannot write to %s", j->path);
            take_back(j, done);
            return status;
        }
        done += (size_t)r;
    }
    j->end += done;
    j->dirty = true;
    return PI_OK;
}

enum pi_status journal_append(struct journal *j, struct sv record, uint64_t *offset,
                              struct pi_error *err)
{
    if (j->read_only) {
        return error_set(err, PI_DENIED, "%s: %s", j->path, j->read_only);
    }
    enum pi_status status = look_again(j, err);
    if (!status && j->torn) {
        status = write_record(j, sv_of("\n"), err);
        j->torn = status != PI_OK;
    }
    uint64_t start = j->end;
    if (!status) {
        status = write_record(j, record, err);
    }
    if (!status && offset) {
        *offset = start;
    }
    return status;
}

enum pi_status journal_sync(struct journal *j, struct pi_error *err)
{
    if (!j->dirty) {
        return PI_OK;
    }
    enum pi_status status = file_sync(j->fd, err);
    if (!status && j->created) {
        char *dir = path_dir(j->path);
        status = dir ? file_sync_dir(dir, err) : error_nomem(err);
        free(dir);
        j->created = status != PI_OK;
    }
    j->dirty = status != PI_OK;
    return status;
}

/* -- reading -- */

struct scan {
    struct journal *journal;
    char *block; // SCAN_BLOCK bytes
    size_t len;
    uint64_t at; // offset in the file of what comes after the block
    size_t lines;
    bool (*each)(void *data, const struct journal_line *line);
    void *data;
};
enum { SCAN_BLOCK = 4 * JOURNAL_HEAD_BYTES };

// Fills the block behind its first `keep` bytes.
static enum pi_status refill(struct scan *s, size_t keep, struct pi_error *err)
{
    size_t got = 0;
    enum pi_status status = file_pread(s->journal->fd, s->block + keep, SCAN_BLOCK - keep,
                                       (off_t)s->at, &got, err);
    s->len = keep + (status ? 0 : got);
    s->at += status ? 0 : got;
    return status;
}

static bool tell(struct scan *s, struct journal_line line)
{
    line.number = ++s->lines;
    return s->each(s->data, &line);
}

// A line that fills the block: its head stays in front while the rest goes by. *rest is
// where the next line begins in the block.
static enum pi_status pass_long_line(struct scan *s, size_t *rest, bool *go_on,
                                     struct pi_error *err)
{
    struct journal_line line = {.offset = s->at - s->len, .length = s->len};
    const char *lf = NULL;
    while (!lf) {
        line.last = s->block[s->len - 1];
        enum pi_status status = refill(s, JOURNAL_HEAD_BYTES, err);
        if (status) {
            return status;
        }
        size_t got = s->len - JOURNAL_HEAD_BYTES;
        char *fresh = s->block + JOURNAL_HEAD_BYTES;
        lf = memchr(fresh, '\n', got);
        size_t part = lf ? (size_t)(lf - fresh) : got;
        line.length += part;
        if (part > 0) {
            line.last = fresh[part - 1];
        }
        if (got == 0) {
            break;
        }
    }
    line.whole = lf != NULL;
    line.head = sv_make(s->block, JOURNAL_HEAD_BYTES);
    *rest = lf ? (size_t)(lf - s->block) + 1 : s->len;
    *go_on = tell(s, line);
    return PI_OK;
}

// The lines that end in the block. *rest is where the last, open one begins.
static bool pass_lines(struct scan *s, size_t *rest)
{
    const char *lf;
    while ((lf = memchr(s->block + *rest, '\n', s->len - *rest))) {
        size_t n = (size_t)(lf - s->block) - *rest;
        struct journal_line line = {
            .offset = s->at - s->len + *rest,
            .length = n,
            .head = sv_make(s->block + *rest, n),
            .last = n > 0 ? lf[-1] : '\0',
            .whole = true,
        };
        *rest += n + 1;
        if (!tell(s, line)) {
            return false;
        }
    }
    return true;
}

static enum pi_status scan_lines(struct scan *s, struct pi_error *err)
{
    size_t rest = 0;
    bool go_on = true;
    while (go_on) {
        size_t keep = s->len - rest;
        memmove(s->block, s->block + rest, keep);
        rest = 0;
        enum pi_status status = refill(s, keep, err);
        if (status) {
            return status;
        }
        if (s->len == keep) {
            struct journal_line last = {.offset = s->at - keep, .length = keep};
            last.head = sv_make(s->block, keep);
            last.last = keep > 0 ? s->block[keep - 1] : '\0';
            if (keep > 0) {
                (void)tell(s, last);
            }
            return PI_OK;
        }
        go_on = pass_lines(s, &rest);
        if (go_on && rest == 0 && s->len == SCAN_BLOCK) {
            status = pass_long_line(s, &rest, &go_on, err);
            if (status) {
                return status;
            }
            go_on = go_on && pass_lines(s, &rest);
        }
    }
    return PI_OK;
}

enum pi_status journal_scan(struct journal *j,
                            bool (*each)(void *data, const struct journal_line *line),
                            void *data, struct pi_error *err)
{
    struct scan s = {.journal = j, .each = each, .data = data};
    s.block = malloc(SCAN_BLOCK);
    if (!s.block) {
        return error_nomem(err);
    }
    enum pi_status status = scan_lines(&s, err);
    free(s.block);
    return status;
}

enum pi_status journal_read(struct journal *j, uint64_t offset, struct buf *out,
                            struct pi_error *err)
{
    size_t start = out->len;
    enum pi_status status = PI_OK;
    for (;;) {
        size_t got = 0;
        size_t piece = out->len - start < READ_PIECE ? READ_PIECE : out->len - start;
        if (!buf_reserve(out, piece)) {
            status = error_nomem(err);
            break;
        }
        status = file_pread(j->fd, out->data + out->len, piece,
                            (off_t)(offset + (out->len - start)), &got, err);
        if (status || got == 0) {
            break;
        }
        const char *lf = memchr(out->data + out->len, '\n', got);
        out->len += lf ? (size_t)(lf - (out->data + out->len)) : got;
        out->data[out->len] = '\0';
        if (lf) {
            break;
        }
        if (out->len - start > JOURNAL_LINE_MAX) {
            status = error_set(err, PI_LIMIT, "a line is longer than %d MiB",
                               JOURNAL_LINE_MAX / (1024 * 1024));
            break;
        }
    }
    if (status) {
        buf_truncate(out, start);
    }
    return status;
}
