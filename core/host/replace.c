#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/disk.h"
#include "host/temp.h"
#include "sys/path.h"

// A folder in which nothing may be created, or a name that may not be replaced.
static bool means_in_place(int errnum)
{
    return errnum == EACCES || errnum == EPERM || errnum == EROFS || errnum == EBUSY ||
           errnum == EXDEV || errnum == ENAMETOOLONG;
}

static enum pi_status write_all(const struct disk_change *c, int fd, struct pi_error *err)
{
    struct stat st;
    size_t size = disk_new_size(c);
    enum pi_status status = disk_room(size, err);
    if (status == PI_OK) {
        status = disk_write(c, fd, 0, size, c->cancel, err);
    }
    if (status == PI_OK && (fstat(fd, &st) != 0 || st.st_size != (off_t)size)) {
        status =
            error_set(err, PI_IO, "the file system did not keep all that was written");
    }
    return status;
}

// Whether path still leads to the file as it was read: its last look before the rename.
static enum pi_status still_there(const struct disk_change *c, int fd,
                                  struct pi_error *err)
{
    struct stat st;
    enum pi_status status = disk_unchanged(c, fd, err);
    if (status != PI_OK) {
        return status;
    }
    if (lstat(c->path, &st) != 0) {
        return disk_stale(c->path, err);
    }
    struct file_stamp now = file_stamp_of(&st);
    return file_stamp_eq(&now, &c->stamp) ? PI_OK : disk_stale(c->path, err);
}

static void stamp_of_fd(int fd, struct file_stamp *after)
{
    struct stat st;
    if (fstat(fd, &st) == 0) {
        *after = file_stamp_of(&st);
    }
}

static enum pi_status make_temp(struct temp_file *t, const char *dir, const char *path,
                                mode_t mode, struct pi_error *err)
{
    int errnum = 0;
    enum pi_status status = temp_create(t, dir, path_base(path), mode, &errnum);
    if (status == PI_OK) {
        return PI_OK;
    }
    if (means_in_place(errnum)) {
        // The words are used for a new file, which has no other way.
        (void)error_errno(err, errnum, "cannot create a file in %s", dir);
        return PI_UNSUPPORTED;
    }
    return errnum ? error_errno(err, errnum, "cannot create a file in %s", dir)
                  : error_nomem(err);
}

enum pi_status disk_replace(const struct disk_change *c, int fd, const struct stat *st,
                            struct file_stamp *after, struct pi_error *err)
{
    struct temp_file t = TEMP_FILE_NONE;
    char *dir = path_dir(c->path);
    if (!dir) {
        return error_nomem(err);
    }
    enum pi_status status = make_temp(&t, dir, c->path, 0600, err);
    if (status == PI_OK) {
        status = disk_copy_owner(t.fd, st, err);
    }
    if (status == PI_OK) {
        status = write_all(c, t.fd, err);
    }
    if (status == PI_OK) {
        status = disk_copy_identity(fd, t.fd, st, err);
    }
    if (status == PI_OK) {
        status = file_sync(t.fd, err);
    }
    if (status == PI_OK) {
        status = still_there(c, fd, err);
    }
    if (status == PI_OK) {
        status = cancel_check(c->cancel, err);
    }
    if (status != PI_OK) {
        goto out;
    }
    if (rename(t.path, c->path) != 0) {
        int why = errno;
        status = error_errno(err, why, "cannot replace it");
        status = means_in_place(why) ? PI_UNSUPPORTED : status;
        goto out;
    }
    stamp_of_fd(t.fd, after);
    temp_kept(&t);
    // The change is made and visible; that a crash of the machine might undo it is no
    // reason to call it a failure.
    (void)!file_sync_dir(dir, NULL);
out:
    temp_discard(&t);
    free(dir);
    return status;
}

/* ------------------------------------------------------------------------ new file -- */

// The longest part of dir that exists. NULL without memory.
static char *existing_dir(const char *dir)
{
    struct stat st;
    char *at = strdup(dir);
    while (at && strcmp(at, "/") != 0 && strcmp(at, ".") != 0 && stat(at, &st) != 0) {
        char *up = path_dir(at);
        free(at);
        at = up;
    }
    return at;
}

// Calls act for dir and its parents up to, not including, top.
static void for_new_dirs(const char *dir, const char *top, void (*act)(const char *))
{
    char *at = strdup(dir);
    while (at && strlen(at) > strlen(top)) {
        act(at);
        char *up = path_dir(at);
        free(at);
        at = up;
    }
    free(at);
}

static void remove_dir(const char *dir)
{
    (void)rmdir(dir);
}

static void sync_parent(const char *dir)
{
    char *up = path_dir(dir);
    if (up) {
        (void)!file_sync_dir(up, NULL);
    }
    free(up);
}

static enum pi_status create_in(const struct disk_change *c, const char *dir,
                                struct file_stamp *after, struct pi_error *err)
{
    struct temp_file t = TEMP_FILE_NONE;
    enum pi_status status = make_temp(&t, dir, c->path, 0666, err);
    if (status == PI_UNSUPPORTED) {
        status = err ? err->code : PI_DENIED;
    }
    if (status == PI_OK) {
        status = write_all(c, t.fd, err);
    }
    if (status == PI_OK) {
        status = file_sync(t.fd, err);
    }
    if (status == PI_OK) {
        status = cancel_check(c->cancel, err);
    }
    int why = status == PI_OK ? disk_rename_new(t.path, c->path) : 0;
    if (why == EEXIST) {
        status =
            error_set(err, PI_STALE, "%s was created by somebody else just now", c->path);
    } else if (why != 0) {
        status = error_errno(err, why, "cannot give it its name");
    }
    if (status == PI_OK) {
        stamp_of_fd(t.fd, after);
        temp_kept(&t);
    }
    temp_discard(&t);
    return status;
}

enum pi_status disk_create(const struct disk_change *c, struct file_stamp *after,
                           struct pi_error *err)
{
    char *dir = path_dir(c->path);
    char *top = dir ? existing_dir(dir) : NULL;
    enum pi_status status = top ? PI_OK : error_nomem(err);
    if (status == PI_OK) {
        status = file_make_dirs(dir, 0777, err);
    }
    if (status == PI_OK) {
        status = create_in(c, dir, after, err);
    }
    if (status == PI_OK) {
        (void)!file_sync_dir(dir, NULL);
        for_new_dirs(dir, top, sync_parent);
    } else if (top) {
        for_new_dirs(dir, top, remove_dir);
    }
    free(top);
    free(dir);
    return status;
}
