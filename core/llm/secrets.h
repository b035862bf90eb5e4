#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/log.h"

/** Words that nobody may see. A zeroed struct holds none. */
struct secrets {
    char **words;
    size_t len, cap;
    struct log *log; // is told every word; may be NULL
};

/** Wipes and frees. */
void secrets_finish(struct secrets *s);

/** Remembers a word; those below 8 bytes are too common to be hidden. False without
 * memory. */
bool secrets_add(struct secrets *s, const char *word) NODISCARD;

/** Puts "[key]" in the place of each of them. Without memory text has failed. */
void secrets_redact(const struct secrets *s, struct buf *text);
