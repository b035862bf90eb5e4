#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sv.h"

/** What an image is, by its header, whatever its name or label says. */
struct image_info {
    const char *mime_type;  // image/png, image/jpeg, image/gif or image/webp; static
    uint32_t width, height; // pixels as stored; 0 = not found
    unsigned
        orientation; // 1 to 8 as in EXIF, JPEG only: how to turn it; 1 = it is upright
    size_t frame_at; // JPEG: where the header of the picture begins, 0 = not found
};

/** Looks into the bytes of a file. False when they are none of the four kinds. */
bool image_info_read(struct image_info *out, struct sv bytes);

/** The same for base64 data, of which only the first 96 KiB are looked into. False also
 * when it is not base64. */
bool image_info_read_base64(struct image_info *out, struct sv base64);
