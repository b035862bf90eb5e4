#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/image_info.h"
#include "sys/cancel.h"

/**
 * Makes the image of a file fit for a model: upright, at most 2000 pixels a side, less
 * than 4.5 MiB as base64. What is so already stays byte for byte. GIF and WebP cannot be
 * scaled: they fit, or they are left out.
 */

enum {
    IMAGE_SIDE_MAX = 2000,
    IMAGE_BASE64_MAX = 4718592,
    IMAGE_FILE_MAX = 64 * 1024 * 1024, // larger files are not looked into
};

struct image {
    struct buf base64;     // empty: the image is left out, and note says why
    const char *mime_type; // static
    struct buf note;       // for the model, one sentence or more; empty = nothing to say
};

void image_finish(struct image *i);

/**
 * Fills *out from a file that image_info_read() knows. as_is: its bytes as they are. Only
 * one thread works at a time, since each needs up to 512 MiB. An image that cannot be
 * sent is no error. PI_ABORTED, PI_NOMEM.
 */
enum pi_status image_make(struct image *out, struct sv bytes, bool as_is,
                          struct cancel *cancel, struct pi_error *err) NODISCARD;
