#include "host/safety.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/disk.h"
#include "host/temp.h"
#include "sys/file.h"
#include "sys/path.h"

// Survives a restart of the machine, unlike /tmp on many systems.
static const char spare_dir[] = "/var/tmp";

enum { SAFETY_PLACES = 2 };

static uint64_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037U;
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 1099511628211U;
    }
    return h;
}

// Where the copy for path may lie: beside it first.
static char *place_name(const char *path, int place)
{
    char suffix[64] = ".pi-restore";
    char *dir = NULL;
    if (place > 0) {
        snprintf(suffix, sizeof suffix, ".pi-restore-%ju-%016" PRIx64,
                 (uintmax_t)geteuid(), hash_text(path));
    } else if (strlen(path_base(path)) > 200) {
        snprintf(suffix, sizeof suffix, ".pi-restore-%016" PRIx64, hash_text(path));
    }
    if (place == 0 && !(dir = path_dir(path))) {
        return NULL;
    }
    char *name = temp_name(dir ? dir : spare_dir, path_base(path), suffix);
    free(dir);
    return name;
}

// 0 or an errno. Locks of the open file description: they also work between threads, and
// the kernel drops them when their holder dies.
static int lock(int fd, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &l) == 0 ? 0 : errno;
}

/* ------------------------------------------------------------------------- finding -- */

static bool same_content(int copy, const struct stat *st, const char *path)
{
    struct stat other;
    int fd = -1;
    if (file_open_regular(&fd, path, &other, NULL) != PI_OK) {
        return false;
    }
    bool same = other.st_size == st->st_size && disk_same_files(copy, fd);
    file_close(&fd);
    return same;
}

// Whether fd is a copy that nobody works with any more.
static bool is_left(int fd, struct stat *st, bool beside)
{
    if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode)) {
        return false;
    }
    // The spare folder is open to all; only our own copies there are to be trusted.
    if (!beside && st->st_uid != geteuid()) {
        return false;
    }
    int busy = lock(fd, F_RDLCK);
    if (busy == EAGAIN || busy == EACCES) {
        return false;
    }
    return fstat(fd, st) == 0 && st->st_nlink > 0;
}

// Removes a useless copy. The lock makes sure that name is still the file behind fd.
static void remove_left(int fd, const char *name)
{
    struct stat st;
    if (lock(fd, F_WRLCK) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
        (void)unlink(name);
    }
}

static int open_copy(const char *name)
{
    enum { FLAGS = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };
    int fd = open(name, O_RDWR | FLAGS); // for a lock that excludes others
    return fd >= 0 || errno == ENOENT ? fd : open(name, O_RDONLY | FLAGS);
}

static char *find_in(const char *path, int place)
{
    char *name = place_name(path, place);
    int fd = name ? open_copy(name) : -1;
    struct stat st;
    bool left = fd >= 0 && is_left(fd, &st, place == 0);
    if (left && same_content(fd, &st, path)) {
        remove_left(fd, name);
        left = false;
    }
    file_close(&fd);
    if (!left) {
        free(name);
        return NULL;
    }
    return name;
}

char *safety_find(const char *path)
{
    char *found = NULL;
    for (int place = 0; place < SAFETY_PLACES && !found; place++) {
        found = find_in(path, place);
    }
    return found;
}

enum pi_status safety_error(struct pi_error *err, const char *path, const char *copy)
{
    return error_set(err, PI_CONFLICT,
                     "an earlier change of %s was interrupted, the file may be half "
                     "written. Its content before that change is in %s. To restore it: "
                     "cp -- COPY FILE && rm -- COPY. To keep the file as it is now: "
                     "rm -- COPY. Nothing was changed.",
                     path, copy);
}

/* -------------------------------------------------------------------------- making -- */

static enum pi_status fill_copy(struct temp_file *t, const struct stat *st, struct sv old,
                                struct pi_error *err)
{
    // The owner of the file shall be able to read it; without the right to give the copy
    // away it stays ours.
    if (fchown(t->fd, st->st_uid, st->st_gid) != 0) {
        errno = 0;
    }
    enum pi_status status = disk_room(old.n, err);
    if (status == PI_OK) {
        status = file_write(t->fd, old.p, old.n, err);
    }
    if (status == PI_OK) {
        status = file_sync(t->fd, err);
    }
    return status;
}

static enum pi_status occupied(const char *path, const char *name, struct pi_error *err)
{
    char *left = safety_find(path);
    enum pi_status status;
    if (left) {
        status = safety_error(err, path, left);
    } else {
        status =
            error_set(err, PI_STALE, "another program is writing %s (%s)", path, name);
    }
    free(left);
    return status;
}

static enum pi_status make_in(struct safety *s, const char *path, const struct stat *st,
                              struct sv old, int place, struct pi_error *err)
{
    struct temp_file t = TEMP_FILE_NONE;
    int errnum = 0;
    char *name = place_name(path, place);
    char *dir = name ? path_dir(name) : NULL;
    enum pi_status status = PI_OK;
    if (!dir) {
        status = error_nomem(err);
        goto out;
    }
    status = temp_create(&t, dir, path_base(path), 0600, &errnum);
    if (status != PI_OK) {
        status = errnum ? error_errno(err, errnum, "cannot make a copy in %s", dir)
                        : error_nomem(err);
        goto out;
    }
    status = fill_copy(&t, st, old, err);
    if (status != PI_OK) {
        goto out;
    }
    // Locked before it gets the name by which it is found. Where locks do not exist, the
    // copy still serves, it only looks left over while we work.
    (void)lock(t.fd, F_WRLCK);
    errnum = disk_rename_new(t.path, name);
    if (errnum != 0) {
        status = errnum == EEXIST
                     ? occupied(path, name, err)
                     : error_errno(err, errnum, "cannot name the copy %s", name);
        goto out;
    }
    status = file_sync_dir(dir, err);
    *s = (struct safety){.path = name, .fd = t.fd};
    name = NULL;
    t.fd = -1;
    temp_kept(&t);
    if (status != PI_OK) {
        safety_remove(s);
    }
out:
    temp_discard(&t);
    free(dir);
    free(name);
    return status;
}

enum pi_status safety_make(struct safety *s, const char *path, const struct stat *st,
                           struct sv old, struct pi_error *err)
{
    enum pi_status status = PI_IO;
    for (int place = 0; place < SAFETY_PLACES; place++) {
        status = make_in(s, path, st, old, place, err);
        if (status == PI_OK || status == PI_STALE || status == PI_CONFLICT ||
            status == PI_NOMEM) {
            break;
        }
    }
    return status;
}

void safety_remove(struct safety *s)
{
    if (s->path) {
        (void)unlink(s->path);
    }
    safety_leave(s);
}

void safety_leave(struct safety *s)
{
    free(s->path);
    s->path = NULL;
    file_close(&s->fd);
}
