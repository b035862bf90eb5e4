#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/sv.h"
#include "host/host.h"
#include "sys/cancel.h"
#include "sys/file.h"

/**
 * What the ways to change a file on disk (replace.c, in_place.c) share.
 */

/** A change of one file in the file's own bytes. Everything is borrowed. */
struct disk_change {
    const char *path;                  // real path
    struct sv old;                     // what the file holds
    const struct host_change *changes; // offsets are bytes of old
    size_t len;
    struct file_stamp stamp; // of the file when old was read
    struct cancel *cancel;
};

size_t disk_new_size(const struct disk_change *c);

/** Offset of the first byte that may differ. */
size_t disk_first(const struct disk_change *c);

/** Offset behind the last byte of the new content that may differ from the old one. */
size_t disk_last(const struct disk_change *c);

/**
 * Writes the bytes [from, to) of the new content at fd's position. Looks at cancel (which
 * may be NULL) between pieces.
 */
enum pi_status disk_write(const struct disk_change *c, int fd, size_t from, size_t to,
                          struct cancel *cancel, struct pi_error *err) NODISCARD;

/** PI_STALE unless fd (at its start) holds exactly c->old. */
enum pi_status disk_unchanged(const struct disk_change *c, int fd,
                              struct pi_error *err) NODISCARD;

/** PI_STALE with the common text. */
enum pi_status disk_stale(const char *path, struct pi_error *err);

/** Whether two files hold the same bytes. */
bool disk_same_files(int a, int b);

/**
 * PI_IO when a file of `size` bytes is over the process's limit: writing it would send
 * SIGXFSZ, which ends the editor.
 */
enum pi_status disk_room(size_t size, struct pi_error *err) NODISCARD;

/** Renames, unless `to` exists: 0 or an errno (EEXIST). Both in one folder. */
int disk_rename_new(const char *from, const char *to);

/** Puts "cannot write PATH: " before err's message, and after it that nothing changed. */
enum pi_status disk_failed(const struct pi_error *cause, const char *path,
                           struct pi_error *err);

/**
 * The ways. *after gets the stamp of the file as it was left. Unless PI_OK, the file has
 * its old content (or, where the error names a safety copy, that has it).
 *
 * disk_replace: by rename. PI_UNSUPPORTED: not possible here, write in place.
 * disk_create: a new file with its folders; PI_STALE when it exists by now.
 */
enum pi_status disk_replace(const struct disk_change *c, int fd, const struct stat *st,
                            struct file_stamp *after, struct pi_error *err) NODISCARD;
enum pi_status disk_write_in_place(const struct disk_change *c, struct file_stamp *after,
                                   struct pi_error *err) NODISCARD;
enum pi_status disk_create(const struct disk_change *c, struct file_stamp *after,
                           struct pi_error *err) NODISCARD;

/**
 * Gives the file behind `to` the owner in st, and then mode, ACL, label and other
 * attributes of `from`; the latter after its content was written, since writing drops
 * set-id bits and capabilities. PI_UNSUPPORTED when not all of it can be kept.
 * identity.c.
 */
enum pi_status disk_copy_owner(int to, const struct stat *st,
                               struct pi_error *err) NODISCARD;
enum pi_status disk_copy_identity(int from, int to, const struct stat *st,
                                  struct pi_error *err) NODISCARD;
