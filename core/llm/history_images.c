#include "llm/history_images.h"

#include "base/image_info.h"

enum {
    IMAGE_BYTES_MAX = 5 * 1000 * 1000, // of base64, as some servers count
    ALL_BYTES_MAX = 20 * 1000 * 1000,
    IMAGES_MAX = 100,
    SIDE_MAX = 8000,
    MANY_IMAGES = 20,
    MANY_SIDE_MAX = 2000,
};

// From the newest to the oldest: the first one that is too much, and all before it, go.
struct history_images history_images_of(const struct llm_request *request,
                                        const char *refusal)
{
    size_t total = 0, fit = 0, bytes = 0;
    for (size_t i = request->messages_len; i > 0; i--) {
        const struct content *c = &request->messages[i - 1]->content;
        for (size_t k = c->len; k > 0; k--) {
            if (c->blocks[k - 1].type != BLOCK_IMAGE) {
                continue;
            }
            bytes += c->blocks[k - 1].text.len;
            if (fit == total && fit < IMAGES_MAX && bytes <= ALL_BYTES_MAX) {
                fit++;
            }
            total++;
        }
    }
    return (struct history_images){
        .refusal = refusal, .skip = total - fit, .many = fit > MANY_IMAGES};
}

const char *history_images_next(struct history_images *images, const struct block *image,
                                const char **mime_type)
{
    struct image_info info;
    size_t side_max = images->many ? MANY_SIDE_MAX : SIDE_MAX;
    images->seen++;
    if (images->refusal) {
        return images->refusal;
    }
    if (images->seen <= images->skip) {
        return "(an older image was left out: there are too many)";
    }
    if (!image_info_read_base64(&info, buf_sv(&image->text))) {
        return "(an image was left out: it is not PNG, JPEG, GIF or WebP)";
    }
    if (image->text.len > IMAGE_BYTES_MAX) {
        return "(an image was left out: it is larger than 5 MB)";
    }
    if (info.width > side_max || info.height > side_max) {
        return images->many
                   ? "(an image was left out: of so many, none may have a side of more "
                     "than 2000 pixels)"
                   : "(an image was left out: a side is longer than 8000 pixels)";
    }
    *mime_type = info.mime_type;
    return NULL;
}
