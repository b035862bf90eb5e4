#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "host/disk.h"

enum { MAX_ATTRIBUTE = 64 * 1024, TRIES = 3 };

static bool same_owner(const struct stat *a, const struct stat *b)
{
    return a->st_uid == b->st_uid && a->st_gid == b->st_gid;
}

// The names of fd's attributes, one after the other; *len = 0 when there are none.
static enum pi_status list_attributes(int fd, char **names, size_t *len,
                                      struct pi_error *err)
{
    *names = NULL;
    *len = 0;
    for (int i = 0; i < TRIES; i++) {
        ssize_t size = flistxattr(fd, NULL, 0);
        if (size == 0 || (size < 0 && (errno == ENOTSUP || errno == ENOSYS))) {
            return PI_OK;
        }
        if (size < 0) {
            break;
        }
        free(*names);
        *names = malloc((size_t)size);
        if (!*names) {
            return error_nomem(err);
        }
        ssize_t got = flistxattr(fd, *names, (size_t)size);
        if (got >= 0) {
            *len = (size_t)got;
            return PI_OK;
        }
    }
    free(*names);
    *names = NULL;
    return error_set(err, PI_UNSUPPORTED, "its attributes cannot be listed");
}

static bool has_attribute(const char *names, size_t len, const char *name)
{
    for (size_t at = 0; at < len; at += strlen(names + at) + 1) {
        if (strcmp(names + at, name) == 0) {
            return true;
        }
    }
    return false;
}

// Copies one attribute by way of the scratch buffers.
static bool copy_attribute(int from, int to, const char *name, char *value, char *other)
{
    ssize_t n = fgetxattr(from, name, value, MAX_ATTRIBUTE);
    if (n < 0) {
        return errno == ENODATA;
    }
    if (fsetxattr(to, name, value, (size_t)n, 0) == 0) {
        return true;
    }
    // A label that may not be set may have been inherited all the same.
    return fgetxattr(to, name, other, MAX_ATTRIBUTE) == n &&
           memcmp(value, other, (size_t)n) == 0;
}

static bool copy_all(int from, int to, const char *names, size_t len)
{
    char *scratch = malloc(2 * (size_t)MAX_ATTRIBUTE);
    bool ok = scratch != NULL;
    for (size_t at = 0; ok && at < len; at += strlen(names + at) + 1) {
        ok = copy_attribute(from, to, names + at, scratch, scratch + MAX_ATTRIBUTE);
    }
    free(scratch);
    return ok;
}

// Removes what the new file got from its folder (a default ACL) and the old one has not.
static bool remove_others(int to, const char *names, size_t len)
{
    char *own = NULL;
    size_t own_len = 0;
    if (list_attributes(to, &own, &own_len, NULL) != PI_OK) {
        return false;
    }
    bool ok = true;
    for (size_t at = 0; ok && at < own_len; at += strlen(own + at) + 1) {
        ok = has_attribute(names, len, own + at) || fremovexattr(to, own + at) == 0 ||
             strncmp(own + at, "security.", strlen("security.")) == 0;
    }
    free(own);
    return ok;
}

enum pi_status disk_copy_owner(int to, const struct stat *st, struct pi_error *err)
{
    struct stat now;
    if (fstat(to, &now) != 0) {
        return error_errno(err, errno, "cannot look at the new file");
    }
    if (!same_owner(&now, st) && fchown(to, st->st_uid, st->st_gid) != 0) {
        return error_set(err, PI_UNSUPPORTED, "its owner cannot be kept");
    }
    return PI_OK;
}

enum pi_status disk_copy_identity(int from, int to, const struct stat *st,
                                  struct pi_error *err)
{
    struct stat now;
    char *names = NULL;
    size_t len = 0;
    enum pi_status status = list_attributes(from, &names, &len, err);
    if (status != PI_OK) {
        return status;
    }
    bool ok = remove_others(to, names, len) && copy_all(from, to, names, len);
    free(names);
    // The mode comes last: an ACL sets its own.
    ok = ok && fchmod(to, st->st_mode & 07777) == 0 && fstat(to, &now) == 0 &&
         same_owner(&now, st) && (now.st_mode & 07777) == (st->st_mode & 07777);
    return ok ? PI_OK : error_set(err, PI_UNSUPPORTED, "its attributes cannot be kept");
}
