#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * System calls on files, whole: EINTR and short counts are dealt with here and nowhere
 * else. Every descriptor is close-on-exec. May block in the kernel.
 */

/**
 * Opens a regular file for reading without ever blocking on a FIFO or device: O_PATH,
 * fstat, and only then for real. *st, which may be NULL, gets the result of fstat.
 * PI_NOT_FOUND, PI_DENIED, PI_INVALID (a directory, FIFO, socket, device: named), PI_IO.
 */
enum pi_status file_open_regular(int *fd, const char *path, struct stat *st,
                                 struct pi_error *err) NODISCARD;

/** Reads up to n bytes; *got < n only at the end of the file. */
enum pi_status file_read(int fd, void *bytes, size_t n, size_t *got,
                         struct pi_error *err) NODISCARD;
enum pi_status file_pread(int fd, void *bytes, size_t n, off_t at, size_t *got,
                          struct pi_error *err) NODISCARD;

/** Writes all n bytes or fails. */
enum pi_status file_write(int fd, const void *bytes, size_t n,
                          struct pi_error *err) NODISCARD;

/** fsync. Errors that mean "cannot" pass. */
enum pi_status file_sync(int fd, struct pi_error *err) NODISCARD;

/** A whole small regular file; PI_LIMIT above max bytes. */
enum pi_status file_load(struct buf *out, const char *path, size_t max,
                         struct pi_error *err) NODISCARD;

/** Creates dir and its missing parents with mode (before the umask). */
enum pi_status file_make_dirs(const char *dir, mode_t mode,
                              struct pi_error *err) NODISCARD;

/** fsync of a folder, so that a rename in it is durable. Errors that mean "cannot" pass.
 */
enum pi_status file_sync_dir(const char *dir, struct pi_error *err) NODISCARD;

/** "regular file", "directory", "FIFO", "socket", "character device", ... Static. */
const char *file_kind_name(mode_t mode);

/** Identity and state of a file on disk, to see whether it is still the same. */
struct file_stamp {
    uint64_t dev, ino;
    int64_t size;
    int64_t mtime_ns, ctime_ns;
};

struct file_stamp file_stamp_of(const struct stat *st);
bool file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b);

void file_close(int *fd); // closes when >= 0 and sets -1
