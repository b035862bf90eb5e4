#include "picture.h"

#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>
#include <stb/stb_image_write.h>
#include <stddef.h>
#include <string.h>

#include "picture_memory.h"

// Progressive files may pass over all pixels as often as they like; honest ones do it
// about ten times.
enum { SCANS_MAX = 100 };

void picture_finish(struct picture *p)
{
    picture_free(p->pixels);
    *p = (struct picture){0};
}

static size_t size_in_bytes(const struct picture *p)
{
    return (size_t)p->width * p->height * p->channels;
}

static bool has_too_many_scans(struct sv bytes)
{
    size_t scans = 0;
    const char *hit;
    if (!sv_starts(bytes, sv_of("\xff\xd8"))) {
        return false;
    }
    while (scans <= SCANS_MAX && (hit = memmem(bytes.p, bytes.n, "\xff\xda", 2))) {
        bytes = sv_from(bytes, (size_t)(hit - bytes.p) + 2);
        scans++;
    }
    return scans > SCANS_MAX;
}

// What the library needs at the most for so many pixels, with some room.
static size_t memory_for(const struct picture *p, struct sv bytes)
{
    enum { BYTES_PER_PIXEL = 24, ROOM = 16 * 1024 * 1024 };
    return (size_t)p->width * p->height * BYTES_PER_PIXEL + 2 * bytes.n + ROOM;
}

enum pi_status picture_read(struct picture *out, struct sv bytes, struct pi_error *err)
{
    struct picture p = {0};
    const unsigned char *data = (const unsigned char *)bytes.p;
    int n = bytes.n > INT32_MAX ? 0 : (int)bytes.n;
    if (!stbi_info_from_memory(data, n, &p.width, &p.height, &p.channels)) {
        return error_set(err, PI_INVALID, "it is damaged or of a rare kind");
    }
    if ((int64_t)p.width * p.height > PICTURE_PIXELS_MAX) {
        return error_set(err, PI_LIMIT, "it has more than %d million pixels",
                         PICTURE_PIXELS_MAX / 1000 / 1000);
    }
    if (has_too_many_scans(bytes)) {
        return error_set(err, PI_LIMIT, "it is drawn in more than %d passes", SCANS_MAX);
    }
    // 0: as many channels as the file has.
    picture_set_limit(memory_for(&p, bytes));
    p.pixels = stbi_load_from_memory(data, n, &p.width, &p.height, &p.channels, 0);
    picture_set_limit(PICTURE_MEMORY_MAX);
    if (!p.pixels) {
        const char *why = stbi_failure_reason();
        bool memory = why && strcmp(why, "outofmem") == 0;
        return memory ? error_set(err, PI_LIMIT, "unpacking it takes too much memory")
                      : error_set(err, PI_INVALID,
                                  "it is damaged, cut off or of a rare kind");
    }
    *out = p;
    return PI_OK;
}

bool picture_scale(struct picture *p, int width, int height)
{
    struct picture q = {.width = width, .height = height, .channels = p->channels};
    bool alpha = p->channels == 2 || p->channels == 4;
    q.pixels = picture_alloc(size_in_bytes(&q));
    if (!q.pixels ||
        !stbir_resize_uint8_generic(
            p->pixels, p->width, p->height, 0, q.pixels, width, height, 0, p->channels,
            alpha ? p->channels - 1 : STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
            STBIR_FILTER_CATMULLROM, STBIR_COLORSPACE_LINEAR, NULL)) {
        picture_finish(&q);
        return false;
    }
    picture_finish(p);
    *p = q;
    return true;
}

// Where the pixel of the upright picture at (x, y) is stored.
static ptrdiff_t stored_at(const struct picture *from, unsigned orientation, int x, int y)
{
    int right = from->width - 1, bottom = from->height - 1;
    const int places[9][2] = {
        [1] = {x, y},
        [2] = {right - x, y},
        [3] = {right - x, bottom - y},
        [4] = {x, bottom - y},
        [5] = {y, x},
        [6] = {y, bottom - x},
        [7] = {right - y, bottom - x},
        [8] = {right - y, x},
    };
    const int *place = places[orientation];
    return ((ptrdiff_t)place[1] * from->width + place[0]) * from->channels;
}

bool picture_turn(struct picture *p, unsigned orientation)
{
    if (orientation < 2 || orientation > 8) {
        return true;
    }
    bool lies = orientation >= 5;
    struct picture q = {.width = lies ? p->height : p->width,
                        .height = lies ? p->width : p->height,
                        .channels = p->channels};
    q.pixels = picture_alloc(size_in_bytes(&q));
    if (!q.pixels) {
        return false;
    }
    ptrdiff_t step = stored_at(p, orientation, 1, 0) - stored_at(p, orientation, 0, 0);
    unsigned char *to = q.pixels;
    for (int y = 0; y < q.height; y++) {
        ptrdiff_t from = stored_at(p, orientation, 0, y);
        for (int x = 0; x < q.width; x++, from += step) {
            for (int i = 0; i < q.channels; i++) {
                *to++ = p->pixels[from + i];
            }
        }
    }
    picture_finish(p);
    *p = q;
    return true;
}

void picture_flatten(struct picture *p)
{
    int colours = p->channels - 1;
    if (p->channels != 2 && p->channels != 4) {
        return;
    }
    const unsigned char *from = p->pixels;
    unsigned char *to = p->pixels;
    for (size_t n = (size_t)p->width * p->height; n > 0; n--, from += p->channels) {
        unsigned alpha = from[colours];
        for (int i = 0; i < colours; i++) {
            *to++ = (unsigned char)((from[i] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
    }
    p->channels = colours;
}

static void add_bytes(void *out, void *bytes, int n)
{
    buf_add(out, bytes, (size_t)n);
}

bool picture_write_png(struct buf *out, const struct picture *p)
{
    // The packed bytes grow by doubling, and what they grew out of is not given back.
    size_t room = 10 * (size_in_bytes(p) + p->height) + ((size_t)32 << 20);
    if (!picture_arena_begin(room)) {
        return false;
    }
    bool ok = stbi_write_png_to_func(add_bytes, out, p->width, p->height, p->channels,
                                     p->pixels, p->width * p->channels);
    picture_arena_end();
    return ok && buf_ok(out);
}

bool picture_write_jpeg(struct buf *out, const struct picture *p, int quality)
{
    return stbi_write_jpg_to_func(add_bytes, out, p->width, p->height, p->channels,
                                  p->pixels, quality) &&
           buf_ok(out);
}
