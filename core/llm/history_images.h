#pragma once

#include "llm/llm.h"
#include "llm/provider.h"

/**
 * Which images of a history can be sent. Limits are those of the strictest servers; the
 * newest images go first.
 */
struct history_images {
    const char *refusal; // of all images: a note in their place; NULL = judge each
    size_t skip;         // so many old ones are left out
    size_t seen;
    bool many; // more than 20: then each must be smaller
};

/** refusal: see above. */
struct history_images history_images_of(const struct llm_request *request,
                                        const char *refusal);

/**
 * Judges the next image of the history. NULL: it can be sent as *mime_type. Else the note
 * that stands in its place; static.
 */
const char *history_images_next(struct history_images *images, const struct block *image,
                                const char **mime_type);
