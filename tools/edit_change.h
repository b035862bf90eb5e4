#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "edit_match.h"
#include "host/host.h"

/**
 * Turns matched edits into the smallest changes of the text: only what differs between
 * oldText and newText is replaced, carried over to the bytes that oldText matched. What
 * oldText and newText have in common keeps the bytes of the file: line ends, trailing
 * blanks, typographic signs.
 */

/** One change; its text lies in edit_changes.bytes, which may still move. */
struct edit_change {
    size_t offset, length;
    size_t text_at, text_len;
};

/** Zeroed = none. Ascending, not touching. */
struct edit_changes {
    struct edit_change *items;
    size_t len, cap;
    struct buf bytes;
};

void edit_changes_finish(struct edit_changes *c);

/**
 * Adds what an edit changes, nothing when it changes nothing. Edits must be added in the
 * order of their places in the text and not overlap. Line ends of new_text take the style
 * of the lines they replace, else of the line they stand in; all else is literal.
 * PI_NOMEM.
 */
enum pi_status edit_changes_add(struct edit_changes *c, struct sv text,
                                const struct edit_match *match, struct sv old,
                                struct sv new_text, struct pi_error *err) NODISCARD;

/** The changes for host->apply (caller frees); borrows the texts from c. NULL without
 * memory. */
struct host_change *edit_changes_list(const struct edit_changes *c);
