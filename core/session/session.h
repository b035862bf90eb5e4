#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "llm/llm.h"
#include "session/journal.h"

/**
 * A conversation that outlives the process: a tree of entries in the reference agent's
 * file format, version 3 (doc/session-format.md). The leaf is where the next entry is
 * appended; the path from the root to the leaf is what the model sees. Owned by the agent
 * thread.
 *
 * Lines off the live path are indexed by id and parent, not parsed. Entry types that are
 * unknown stay in the file untouched.
 */
struct session;

/** What to open. All strings are borrowed for the call. */
struct session_options {
    const char *dir; // folder of this directory's sessions (session_dir)
    const char *cwd; // absolute
    const char *id;  // of a new session (UUID version 7)
};

/** Appends the folder for cwd: <agent_dir>/sessions/--CWD--, or override as it is. */
enum pi_status session_dir(struct buf *out, const char *agent_dir, const char *override,
                           const char *cwd, struct pi_error *err) NODISCARD;

/** Starts a new session; its file appears with the first entry. */
enum pi_status session_create(struct session **out, const struct session_options *options,
                              struct pi_error *err) NODISCARD;

/**
 * Opens an existing file. A file that is no session is PI_INVALID and stays as it is.
 * What was wrong inside (bad lines, a torn end, lost parents) is one line each in
 * problems; a second opener reads only and owner says who has it.
 */
enum pi_status session_open(struct session **out, const char *path, struct buf *problems,
                            struct journal_owner *owner, struct pi_error *err) NODISCARD;

void session_close(struct session *s); // accepts NULL

const char *session_id(const struct session *s);
const char *session_path(const struct session *s);
const char *session_cwd(const struct session *s);
const char *session_name(const struct session *s); // NULL = none

/** Last settings on the live path; NULL when none. */
const char *session_provider(const struct session *s);
const char *session_model(const struct session *s);
const char *session_thinking(const struct session *s);

/**
 * The messages of the live path in order, for the transcript: those of `message` entries,
 * and what compaction, branch_summary and custom_message entries mean to the model. The
 * caller owns them.
 */
enum pi_status session_messages(struct session *s, struct message ***out, size_t *len,
                                struct pi_error *err) NODISCARD;

/* Appending. Each is one record, on disk when the call returns; a failure is told and the
   conversation goes on in memory. */
enum pi_status session_add_message(struct session *s, const struct message *m,
                                   struct pi_error *err) NODISCARD;
enum pi_status session_add_model(struct session *s, const char *provider,
                                 const char *model, struct pi_error *err) NODISCARD;
enum pi_status session_add_thinking(struct session *s, const char *level,
                                    struct pi_error *err) NODISCARD;
enum pi_status session_add_name(struct session *s, const char *name,
                                struct pi_error *err) NODISCARD;

/** fsync, at the end of a turn. */
enum pi_status session_sync(struct session *s, struct pi_error *err) NODISCARD;

/** A session of a folder, for lists. Strings owned. */
struct session_info {
    char *path, *id, *name, *cwd;
    char *first_message; // text of the user's first message, cut to 200 bytes
    size_t messages;
    int64_t modified_ms; // newest message of the user or the model
};
struct session_list {
    struct session_info *items; // newest first
    size_t len, cap;
};

enum pi_status session_list(struct session_list *out, const char *dir,
                            struct pi_error *err) NODISCARD;
void session_list_finish(struct session_list *l);

/**
 * Finds a session by what a user gives: a path (with "/" or ending ".jsonl"), else the
 * beginning of an id, in dir first, then below sessions_root. PI_NOT_FOUND, PI_INVALID
 * (several begin so).
 */
enum pi_status session_find(char **path, const char *wanted, const char *dir,
                            const char *sessions_root, struct pi_error *err) NODISCARD;

/** The newest valid session of the folder by time of change; PI_NOT_FOUND. */
enum pi_status session_newest(char **path, const char *dir,
                              struct pi_error *err) NODISCARD;
