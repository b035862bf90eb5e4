#pragma once

#include "base/error.h"
#include "base/json.h"
#include "host/host.h"

/** What faces show of an edit. Looks at the changed lines and four around them only. */

struct edit_diff {
    const char *path; // for the patch: relative to the working directory
    struct sv text;   // before
    const struct host_change *changes;
    size_t len;
    bool patch; // whether a patch of these bytes would fit the file
};

/** The changed lines, in the new text. */
struct edit_lines {
    size_t first, count; // from the first changed one to the last
};

/**
 * *details becomes {diff, patch, firstChangedLine} (caller destroys). Without `patch`,
 * when the lines are not UTF-8 or above 1 MB, patch is left out; above that the diff,
 * too.
 */
enum pi_status edit_diff_make(struct json **details, struct edit_lines *lines,
                              const struct edit_diff *d, struct pi_error *err) NODISCARD;
