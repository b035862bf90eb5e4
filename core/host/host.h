#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"
#include "sys/cancel.h"
#include "sys/file.h"

/**
 * How tools reach files: resolve, read, snapshot, apply. Behind it stand the disk
 * (posix.c) and, when the face lends its buffers, the face first and the disk for what it
 * has not open (call.c). Tools never open the target of a change themselves.
 *
 * Called from tool threads; blocks; every wait also waits for the cancel token.
 */

/** A file as it was judged: tools work on this, not on the argument. */
struct host_target {
    char *path;  // real path; of a missing file that of its nearest ancestor + rest
    char *shown; // as the model named it, for messages
    char *key;   // same file, same key: the real path; "dev:ino" with several hard links
    bool exists; // on disk
    bool folded; // found under a variant of the name that was asked for (path_resolve)
    mode_t mode; // when it exists
    char *leftover; // a safety copy that a killed writer left (safety.h); NULL = none
};

void host_target_finish(struct host_target *t);

/** Receives the bytes of a read in order; false stops the read (which is no error). */
typedef bool (*host_sink)(void *data, struct sv bytes);

/** Where a text came from. */
struct host_origin {
    bool buffer;  // from the editor
    bool unsaved; // the buffer differs from the disk
};

/** How the bytes of a file on disk hold text. */
enum host_encoding { HOST_BYTES, HOST_UTF16_LE, HOST_UTF16_BE };

/**
 * The text of a file for changing. Offsets in changes are bytes of text: the file's own
 * bytes (any encoding that keeps ASCII, BOM included), UTF-8 when the file is UTF-16 (BOM
 * as U+FEFF), UTF-8 of the buffer in editors.
 */
struct host_snapshot {
    struct buf text;
    struct host_origin origin;
    enum host_encoding encoding;
    bool is_new;             // the file does not exist: text is empty
    struct file_stamp stamp; // disk
    uint64_t version;        // editor: change tick
};

void host_snapshot_finish(struct host_snapshot *s);

/** Same layout and rules as struct pi_change: sorted by offset, disjoint. */
struct host_change {
    size_t offset, length;
    struct sv text;
};

/** What apply did. */
struct host_applied {
    bool saved;       // on disk now
    bool in_editor;   // made in a buffer
    bool unconfirmed; // sent to the editor, the answer had not come when the turn ended
    struct file_stamp stamp; // disk, after the change, when saved there by us
    struct host_change
        *changes; // as they ended up when the editor altered them, else NULL
    size_t changes_len;
    struct buf memory; // holds the bytes of changes
};

void host_applied_finish(struct host_applied *a);

/** Something that must be held until a file has settled, e.g. its place in the mutation
 * queue. */
struct host_hold {
    void (*release)(void *data); // may be called from any thread, exactly once
    void *data;
};

/** A call of a tool that the face runs. */
struct host_tool_call {
    const char *name;
    struct sv arguments; // a JSON object
    const char *cwd;
};

struct host;

/** call_tool and before_command are NULL where there is no face. */
struct host_ops {
    /**
     * Streams the bytes of the target from byte `offset` on. UTF-16 is not transcoded
     * here. *stamp is filled for disk files. PI_NOT_FOUND, PI_DENIED, PI_INVALID (not a
     * regular file), PI_ABORTED, PI_IO.
     */
    enum pi_status (*read)(struct host *h, const struct host_target *target,
                           uint64_t offset, host_sink sink, void *sink_data,
                           struct host_origin *origin, struct file_stamp *stamp,
                           struct cancel *cancel, struct pi_error *err);

    /**
     * PI_CONFLICT when only the user can decide: buffer and disk both changed, or a
     * killed writer left a safety copy (safety.h; the message tells how to restore the
     * file). PI_UNSUPPORTED: a UTF-16 mark before something else. PI_LIMIT: over 1 GiB.
     * Others as for read; a missing file is no error but is_new.
     */
    enum pi_status (*snapshot)(struct host *h, const struct host_target *target,
                               struct host_snapshot *out, struct cancel *cancel,
                               struct pi_error *err);

    /**
     * Makes the changes if the snapshot still holds; on disk the file then has its old
     * or its new content, whatever happens: it is replaced by rename, or, where that
     * would lose links, owner or attributes, written in place with a safety copy.
     * PI_STALE: take a new snapshot and plan again. PI_CONFLICT, PI_DENIED, PI_IO,
     * PI_INVALID (a change inside a character; text that the encoding cannot hold):
     * nothing was changed. PI_ABORTED: nothing was changed unless applied->unconfirmed;
     * then *hold was taken over and is released when the editor answers, otherwise it
     * stays with the caller. hold may be NULL.
     */
    enum pi_status (*apply)(struct host *h, const struct host_target *target,
                            const struct host_snapshot *snapshot,
                            const struct host_change *changes, size_t len,
                            struct host_hold *hold, struct host_applied *applied,
                            struct cancel *cancel, struct pi_error *err);

    /** Appends what the tool says to *result. Its failure is the status and *err. */
    enum pi_status (*call_tool)(struct host *h, const struct host_tool_call *call,
                                struct buf *result, struct cancel *cancel,
                                struct pi_error *err);

    /**
     * A command is about to run in cwd: the editor may save what the command should see.
     * Anything but PI_OK: the command must not run.
     */
    enum pi_status (*before_command)(struct host *h, const char *cwd, const char *command,
                                     struct cancel *cancel, struct pi_error *err);
};

struct host {
    const struct host_ops *ops;
};

/** Fills *out from an absolute path. PI_INVALID for a loop of links, PI_NOMEM. Disk only.
 */
enum pi_status host_resolve(struct host_target *out, const char *path, const char *shown,
                            struct pi_error *err) NODISCARD;

/** Writes "what file changed" of the snapshot's text with changes applied to out. */
enum pi_status host_changed_text(struct buf *out, struct sv text,
                                 const struct host_change *changes, size_t len);

/** The disk. Static; stateless; any number of threads. */
struct host *host_posix(void);
