#pragma once

#include <stddef.h>

#include "pi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The default tools, for pi_agent_options.definitions. Static. */
PI_API const struct pi_tool_definition *const *pi_tools_builtin(size_t *len);

/** An image of the user for pi_agent_prompt(), made fit for a model. */
struct pi_fit_image {
    char *mime_type, *data; // as in struct pi_image; NULL: it cannot be sent
    char *note;             // for the model: what became of it; "" = nothing to say
};

/**
 * Fills *out from the bytes of a file as the read tool would: scaled and turned if need
 * be. resize: pi_images_resize(). Takes up to a second. PI_UNSUPPORTED: it is no PNG,
 * JPEG, GIF or WebP image. PI_NOMEM. Freed with pi_fit_image_finish().
 */
PI_API enum pi_status pi_fit_image_make(struct pi_fit_image *out, const void *bytes,
                                        size_t len, bool resize, struct pi_error *err);

/** Frees what pi_fit_image_make() filled. */
PI_API void pi_fit_image_finish(struct pi_fit_image *image);

#ifdef __cplusplus
}
#endif
