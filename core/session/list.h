#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

/**
 * Sessions on disk: where they lie, which there are. Any thread; may block in the file
 * system. Nothing is locked, so that looking disturbs no writer.
 */

/** The folder of a directory's sessions, <agent_dir>/sessions/--CWD--. Caller frees; NULL
 * without memory. */
char *session_dir(const char *agent_dir, const char *cwd);

/** A session of a folder. Strings owned. */
struct session_info {
    char *path, *id;
    char *name, *cwd;    // NULL = none
    char *first_message; // beginning of the user's first message on one line, NULL = none
    size_t messages;
    int64_t modified_ms; // of the newest message, else of the file
};
struct session_list {
    struct session_info *items; // newest first
    size_t len, cap;
};

/**
 * Appends the sessions of a folder that belong to cwd (NULL: to any directory). A folder
 * that does not exist has none; files that cannot be read are passed over. PI_NOMEM.
 */
enum pi_status session_list(struct session_list *out, const char *dir, const char *cwd,
                            struct pi_error *err) NODISCARD;
void session_list_finish(struct session_list *l);

/**
 * The session of cwd in the folder whose file was changed last. PI_NOT_FOUND, also when
 * there is no folder.
 */
enum pi_status session_newest(char **path, const char *dir, const char *cwd,
                              struct pi_error *err) NODISCARD;

/**
 * Finds a session by the beginning of its id: in dir first, then in the folders below
 * root. PI_NOT_FOUND, PI_INVALID (several begin so).
 */
enum pi_status session_find(char **path, const char *id, const char *dir,
                            const char *root, struct pi_error *err) NODISCARD;
