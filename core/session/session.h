#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "llm/llm.h"
#include "session/journal.h"

/**
 * A conversation that outlives the process: a tree of entries in the reference agent's
 * file format, version 3 (doc/session-format.md). The leaf is where the next entry is
 * appended; the path from the root to the leaf is what the model sees. Owned by the agent
 * thread. May block in the file system.
 *
 * Lines off the live path are indexed by id and parent, not parsed. Entry types that are
 * unknown stay in the file untouched.
 */
struct session;

/** What to begin. All strings are borrowed for the call. */
struct session_options {
    const char *cwd;  // absolute
    const char *id;   // UUID version 7
    const char *dir;  // folder of this directory's sessions (session_dir)
    const char *path; // a file of this name instead; it must not exist, or be empty
    // Without dir and path the session lives in memory only: what is added is not kept.
};

/** Starts a new session; its file appears with the first entry. */
enum pi_status session_create(struct session **out, const struct session_options *options,
                              struct pi_error *err) NODISCARD;

/**
 * Opens an existing file of any version. A file that is no session is PI_INVALID and
 * stays as it is. What was wrong inside (bad lines, a torn end) is one line each in
 * problems; a second opener reads only and owner says who has it.
 */
enum pi_status session_open(struct session **out, const char *path, struct buf *problems,
                            struct journal_owner *owner, struct pi_error *err) NODISCARD;

void session_close(struct session *s); // accepts NULL

/** Constant while the session is open; path is NULL in memory, cwd may be NULL. */
const char *session_id(const struct session *s);
const char *session_path(const struct session *s);
const char *session_cwd(const struct session *s);

/** The first line as it stands in the file or will: one JSON object without LF. */
const char *session_header(const struct session *s);

/** NULL when entries can be added, else why not, for people. */
const char *session_read_only(const struct session *s);

const char *session_name(const struct session *s); // NULL = none

/** Last settings on the live path as session_messages found them; NULL when none. */
const char *session_provider(const struct session *s);
const char *session_model(const struct session *s);
const char *session_thinking(const struct session *s);

/** A growing list of messages; owned by whom the list belongs to. */
struct session_messages {
    struct message **items;
    size_t len, cap;
};

/**
 * Appends the messages of the live path in order, for the transcript: those of `message`
 * entries, and what compaction, branch_summary and custom_message entries mean to the
 * model. What cannot be read is left out and told in problems. After a crash calls may
 * lack their results.
 */
enum pi_status session_messages(struct session *s, struct session_messages *out,
                                struct buf *problems, struct pi_error *err) NODISCARD;

/* Appending. Each is one record, on disk when the call returns; a failure is told and the
   conversation goes on in memory: nothing of the entry is in the file then, and it may be
   tried again. */
enum pi_status session_add_message(struct session *s, const struct message *m,
                                   struct pi_error *err) NODISCARD;
enum pi_status session_add_model(struct session *s, const char *provider,
                                 const char *model, struct pi_error *err) NODISCARD;
enum pi_status session_add_thinking(struct session *s, const char *level,
                                    struct pi_error *err) NODISCARD;
/** An empty name takes it away. */
enum pi_status session_add_name(struct session *s, const char *name,
                                struct pi_error *err) NODISCARD;

/** fsync, at the end of a turn. */
enum pi_status session_sync(struct session *s, struct pi_error *err) NODISCARD;
