#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

/** What an image is, whatever its name or label says. */
struct image_info {
    const char *mime_type;  // image/png, image/jpeg, image/gif or image/webp; static
    uint32_t width, height; // pixels; 0 = not found
};

/** Looks into base64 data. False when it is not base64 of one of the four kinds. */
bool image_info_read(struct image_info *out, struct sv base64);
