#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * Pixels of a PNG or JPEG image: read, scaled, turned, written. Memory is limited for all
 * that one thread does here (PICTURE_MEMORY_MAX), whatever a file claims.
 */

enum {
    PICTURE_SIDE_MAX = 65535,
    PICTURE_PIXELS_MAX = 50 * 1000 * 1000,
    PICTURE_MEMORY_MAX = 512 * 1024 * 1024,
};

/** A zeroed struct is empty. */
struct picture {
    unsigned char *pixels; // rows from the top, without gaps, 8 bits for each channel
    int width, height;
    int channels; // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
};

void picture_finish(struct picture *p);

/** Reads a PNG or JPEG file. PI_INVALID: damaged. PI_LIMIT: too many pixels, or too much
 * memory would be needed. */
enum pi_status picture_read(struct picture *out, struct sv bytes,
                            struct pi_error *err) NODISCARD;

/** Changes the size; width and height are at least 1. False without memory. */
bool picture_scale(struct picture *p, int width, int height) NODISCARD;

/** Makes upright what was stored with this EXIF orientation. False without memory. */
bool picture_turn(struct picture *p, unsigned orientation) NODISCARD;

/** Puts what is transparent on white; there is no alpha afterwards. */
void picture_flatten(struct picture *p);

/** Appends a PNG file. False without memory. */
bool picture_write_png(struct buf *out, const struct picture *p) NODISCARD;

/** Appends a JPEG file; quality 1 to 100. Alpha is ignored. False without memory. */
bool picture_write_jpeg(struct buf *out, const struct picture *p, int quality) NODISCARD;
