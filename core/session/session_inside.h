#pragma once

#include "base/json.h"
#include "session/index.h"
#include "session/session.h"

/** The inside of a session, for the files that make it up. */
struct session {
    struct journal *journal; // NULL: nothing was written yet
    struct index index;
    int32_t leaf; // parent of the next entry, INDEX_NONE = it becomes the root
    int version;  // of the file
    bool in_memory;
    bool given_path; // by the user: an empty file of this name will do
    char *path, *id, *cwd;
    struct buf header; // without LF
    char *name, *provider, *model, *thinking;
};

/** The header line of a session of the present version. */
void session_write_header(struct buf *out, const char *id, const char *cwd);

/** Replaces an owned string by a copy (NULL stays NULL); false without memory. */
bool session_set(char **place, const char *text);

/**
 * Reads and parses the line of an entry. PI_INVALID: it is no entry.
 */
enum pi_status session_parse_entry(struct session *s, int32_t at, struct json **out,
                                   struct pi_error *err) NODISCARD;

/** Takes over what the first line of a file says. PI_INVALID: it is no header. */
enum pi_status session_read_header(struct session *s, struct sv line,
                                   struct pi_error *err) NODISCARD;

/** Fills index, header and leaf from the journal. */
enum pi_status session_scan(struct session *s, struct buf *problems,
                            struct pi_error *err) NODISCARD;
