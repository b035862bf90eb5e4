#include "image.h"

#include <pthread.h>
#include <string.h>

#include "base/base64.h"
#include "picture.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

// An image on its way.
struct work {
    struct sv bytes; // of the file
    struct image_info info;
    struct picture picture;
    struct buf file; // what is sent instead of bytes
    struct cancel *cancel;
    struct image *out;
};

void image_finish(struct image *i)
{
    buf_finish(&i->base64);
    buf_finish(&i->note);
    *i = (struct image){0};
}

static enum pi_status leave_out(struct work *w, const char *why)
{
    buf_addf(&w->out->note, "The image is left out: %s.", why);
    return PI_OK;
}

static enum pi_status send(struct work *w, struct sv bytes, const char *mime_type)
{
    w->out->mime_type = mime_type;
    base64_add(&w->out->base64, bytes);
    return PI_OK;
}

static bool fits(size_t bytes)
{
    return base64_size(bytes) < IMAGE_BASE64_MAX;
}

static bool is_small(const struct work *w)
{
    return w->info.width <= IMAGE_SIDE_MAX && w->info.height <= IMAGE_SIDE_MAX &&
           fits(w->bytes.n);
}

/* -- what cannot be decoded here -- */

// A GIF is a row of blocks up to a mark for its end.
static bool gif_is_whole(struct sv bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    enum { SCREEN_END = 13, FLAGS_AT = 10, IMAGE_BYTES = 10, TABLE = 0x80 };
    size_t at = SCREEN_END;
    if (bytes.n > FLAGS_AT && p[FLAGS_AT] & TABLE) {
        at += (size_t)6 << (p[FLAGS_AT] & 7);
    }
    while (at + 1 < bytes.n && p[at] != ';') {
        if (p[at] == ',') { // an image: header, colours, a byte, data
            size_t flags_at = at + IMAGE_BYTES - 1;
            at += IMAGE_BYTES + 1;
            if (flags_at < bytes.n && p[flags_at] & TABLE) {
                at += (size_t)6 << (p[flags_at] & 7);
            }
        } else if (p[at] == '!') { // an extension
            at += 2;
        } else {
            return false;
        }
        while (at < bytes.n && p[at] != 0) { // its data
            at += 1 + (size_t)p[at];
        }
        at++;
    }
    return at < bytes.n && p[at] == ';';
}

static bool webp_is_whole(struct sv bytes)
{
    size_t size = 0;
    for (size_t i = 4; i > 0 && bytes.n >= 12; i--) {
        size = size << 8 | (unsigned char)bytes.p[3 + i];
    }
    return bytes.n >= 12 && bytes.n - 8 >= size;
}

static enum pi_status pass_on(struct work *w)
{
    bool gif = strcmp(w->info.mime_type, "image/gif") == 0;
    if (w->info.width == 0 || w->info.height == 0 ||
        !(gif ? gif_is_whole(w->bytes) : webp_is_whole(w->bytes))) {
        return leave_out(w, "it is damaged");
    }
    if (!is_small(w)) {
        return leave_out(w, "it has more than 2000 pixels a side or 3.3MB, and only PNG "
                            "and JPEG are scaled; convert it with bash and read the "
                            "result, for instance with: magick IN -resize 2000x2000 "
                            "OUT.png");
    }
    return send(w, w->bytes, w->info.mime_type);
}

/* -- PNG and JPEG -- */

static bool is_jpeg(const struct work *w)
{
    return strcmp(w->info.mime_type, "image/jpeg") == 0;
}

// Decoders are kind to a JPEG that is cut off, servers are not.
static bool is_whole(const struct work *w)
{
    struct sv rest = sv_from(w->bytes, w->info.frame_at);
    return !is_jpeg(w) || memmem(rest.p, rest.n, "\xff\xd9", 2) != NULL;
}

// Tries one way of writing; *done says whether the file is small enough.
static bool write_jpeg(struct work *w, int quality, bool *done)
{
    buf_clear(&w->file);
    bool ok = picture_write_jpeg(&w->file, &w->picture, quality);
    *done = ok && fits(w->file.len);
    return ok;
}

// A photo gains nothing from being a PNG.
static enum pi_status write_smallest(struct work *w, bool *done, struct pi_error *err)
{
    static const int qualities[] = {80, 85, 70, 55, 40};
    buf_clear(&w->file);
    *done = false;
    if (!is_jpeg(w)) {
        if (!picture_write_png(&w->file, &w->picture)) {
            return error_nomem(err);
        }
        *done = fits(w->file.len);
        w->out->mime_type = "image/png";
    }
    for (size_t i = 0; !*done && i < sizeof qualities / sizeof *qualities; i++) {
        if (cancel_is_set(w->cancel)) {
            return cancel_check(w->cancel, err);
        }
        picture_flatten(&w->picture);
        if (!write_jpeg(w, qualities[i], done)) {
            return error_nomem(err);
        }
        w->out->mime_type = "image/jpeg";
    }
    return PI_OK;
}

static int at_least_one(double side)
{
    return side < 1 ? 1 : (int)side;
}

static enum pi_status shrink(struct work *w, double factor, double rounding,
                             struct pi_error *err)
{
    int width = at_least_one(w->picture.width * factor + rounding);
    int height = at_least_one(w->picture.height * factor + rounding);
    return picture_scale(&w->picture, width, height) ? cancel_check(w->cancel, err)
                                                     : error_nomem(err);
}

static enum pi_status make_upright(struct work *w, int *width, int *height,
                                   struct pi_error *err)
{
    bool lies = w->info.orientation >= 5;
    *width = lies ? w->picture.height : w->picture.width;
    *height = lies ? w->picture.width : w->picture.height;
    int longer = *width > *height ? *width : *height;
    enum pi_status status = cancel_check(w->cancel, err);
    if (status == PI_OK && longer > IMAGE_SIDE_MAX) {
        status = shrink(w, (double)IMAGE_SIDE_MAX / longer, 0.5, err);
    }
    if (status == PI_OK && !picture_turn(&w->picture, w->info.orientation)) {
        status = error_nomem(err);
    }
    return status;
}

static enum pi_status write_again(struct work *w, struct pi_error *err)
{
    int width, height;
    bool done = false;
    enum pi_status status = make_upright(w, &width, &height, err);
    while (status == PI_OK) {
        status = write_smallest(w, &done, err);
        if (done || (w->picture.width == 1 && w->picture.height == 1)) {
            break;
        }
        if (status == PI_OK) {
            status = shrink(w, 0.75, 0, err);
        }
    }
    if (status != PI_OK) {
        return status;
    }
    if (!done) {
        return leave_out(w, "it cannot be made small enough");
    }
    if (w->picture.width != width || w->picture.height != height) {
        buf_addf(&w->out->note,
                 "The image is %dx%d pixels and is shown at %dx%d: multiply coordinates "
                 "by %.2f to find them in the file.",
                 width, height, w->picture.width, w->picture.height,
                 width > height ? (double)width / w->picture.width
                                : (double)height / w->picture.height);
    }
    return send(w, buf_sv(&w->file), w->out->mime_type);
}

static enum pi_status decode_and_fit(struct work *w, struct pi_error *err)
{
    struct pi_error why;
    enum pi_status status = cancel_check(w->cancel, err);
    if (status != PI_OK) {
        return status;
    }
    if (picture_read(&w->picture, w->bytes, &why) != PI_OK) {
        return leave_out(w, why.message);
    }
    // The header may have told another size than the decoder found.
    w->info.width = (uint32_t)w->picture.width;
    w->info.height = (uint32_t)w->picture.height;
    if (is_small(w) && w->info.orientation == 1 && is_whole(w)) {
        return send(w, w->bytes, w->info.mime_type);
    }
    return write_again(w, err);
}

enum pi_status image_make(struct image *out, struct sv bytes, bool as_is,
                          struct cancel *cancel, struct pi_error *err)
{
    *out = (struct image){0};
    struct work w = {.bytes = bytes, .cancel = cancel, .out = out};
    enum pi_status status = PI_OK;
    if (!image_info_read(&w.info, bytes)) {
        return leave_out(&w, "it is none");
    }
    if (bytes.n > IMAGE_FILE_MAX) {
        status = leave_out(&w, "the file is larger than 64MB");
    } else if (as_is) {
        status = send(&w, bytes, w.info.mime_type);
    } else if ((uint64_t)w.info.width * w.info.height > PICTURE_PIXELS_MAX) {
        status = leave_out(&w, "it has more than 50 million pixels");
    } else if (!is_jpeg(&w) && strcmp(w.info.mime_type, "image/png") != 0) {
        status = pass_on(&w);
    } else {
        pthread_mutex_lock(&one_at_a_time);
        status = decode_and_fit(&w, err);
        picture_finish(&w.picture);
        pthread_mutex_unlock(&one_at_a_time);
    }
    if (status == PI_OK && (!buf_ok(&out->base64) || !buf_ok(&out->note))) {
        status = error_nomem(err);
    }
    if (status != PI_OK) {
        image_finish(out);
    }
    buf_finish(&w.file);
    return status;
}
