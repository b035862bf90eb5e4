#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * The files in which users tell an agent about their project: in each folder the first of
 * AGENTS.md, AGENTS.MD, CLAUDE.md and CLAUDE.MD that can be used.
 */

enum { CONTEXT_FILE_MAX_BYTES = 256 * 1024 };

struct context_file {
    char *path; // where it was found
    char *real; // its real path
    struct buf text;
};

/** A zeroed struct is empty. */
struct context_files {
    struct context_file *items;
    size_t len, cap;
};

/**
 * Loads the agent folder's file, then those of all folders from the root down to cwd; a
 * file that was loaded already under another name is left out, and so is an empty one.
 * Files that cannot be used become lines of problems. PI_NOMEM.
 */
enum pi_status context_files_load(struct context_files *out, struct buf *problems,
                                  const char *agent_dir, const char *cwd,
                                  struct pi_error *err) NODISCARD;

void context_files_finish(struct context_files *files);

/**
 * Appends the cleaned text of one file. PI_NOT_FOUND: there is none. PI_IO: it cannot be
 * used, and problems got a line. PI_NOMEM.
 */
enum pi_status context_file_load(struct buf *out, struct buf *problems, const char *path,
                                 struct pi_error *err) NODISCARD;

/** Appends text as well-formed UTF-8 without NUL, CR before LF and byte order mark. */
void context_text_clean(struct buf *out, struct sv text);

/** text without the blanks and line ends at both ends; the locale has no say. */
struct sv context_text_trim(struct sv text);
