#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"

/**
 * Ignore rules as git reads them: .gitignore and .ignore of each folder from the top down
 * to the file, .git/info/exclude and core.excludesFile, with negation, anchoring and
 * directory-only rules; the last rule that matches decides, deeper folders before higher
 * ones. A file below an ignored folder cannot come back. Unlike git, a class without an
 * end ("[a") stands for itself.
 *
 * A chain of levels, one for each folder on the way; made while walking, borrowed by the
 * levels below. Constant once made; may be read by several threads.
 */

struct ignore_rule {
    struct sv pattern; // into text, without "!", anchor and final slash
    bool negated;
    bool folder_only;
    bool
        anchored; // matched against the path below the level, else against the name alone
};

/** One folder's rules. A zeroed struct has none. */
struct ignore_level {
    const struct ignore_level *parent; // NULL at the top
    char *text;                        // behind the patterns
    struct ignore_rule *rules;
    size_t len, cap;
    size_t depth; // length of this folder's path below the top, without a final slash
};

/**
 * Adds the rules of a file's text; comments and blank lines are skipped, a trailing blank
 * counts only when quoted. Later rules win over earlier ones. PI_NOMEM.
 */
enum pi_status ignore_add(struct ignore_level *l, struct sv text,
                          struct pi_error *err) NODISCARD;

void ignore_finish(struct ignore_level *l);

enum ignore_verdict { IGNORE_UNDECIDED, IGNORE_YES, IGNORE_NO };

/**
 * What the rules of this level and those above say of a path (relative to the top of the
 * chain, below this level's folder). Folders above it are not looked at: the walk has not
 * entered an ignored one.
 */
enum ignore_verdict ignore_check(const struct ignore_level *l, struct sv path,
                                 bool is_folder);
