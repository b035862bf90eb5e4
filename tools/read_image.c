#include "read_image.h"

#include <string.h>

#include "image.h"
#include "text/truncate.h"

static void describe(struct buf *out, const struct tool_call *call,
                     const struct image_info *info, unsigned long long file_bytes)
{
    buf_addf(out, "[%s: %s, ", call->plan.target.shown, info->mime_type);
    if (info->width > 0 && info->height > 0) {
        bool lies = info->orientation >= 5;
        buf_addf(out, "%ux%u pixels, ", (unsigned)(lies ? info->height : info->width),
                 (unsigned)(lies ? info->width : info->height));
    }
    size_format(out, file_bytes);
    buf_addc(out, ']');
}

static bool add_image(struct content *content, struct image *image)
{
    struct block *b = content_add(content, BLOCK_IMAGE);
    if (!b) {
        return false;
    }
    b->text = image->base64;
    image->base64 = (struct buf){0};
    b->mime_type = strdup(image->mime_type);
    return b->mime_type != NULL;
}

enum pi_status read_image_write(struct tool_result *result, const struct tool_call *call,
                                struct sv file, unsigned long long file_bytes,
                                struct pi_error *err)
{
    struct image_info info = {0};
    struct image image = {0};
    struct buf text = {0};
    if (!image_info_read(&info, file)) {
        return error_set(err, PI_INVALID, "%s changed while it was read; read it again",
                         call->plan.target.shown);
    }
    enum pi_status status =
        image_make(&image, file, call->context->keep_images, call->cancel, err);
    if (status != PI_OK) {
        return status;
    }
    describe(&text, call, &info, file_bytes);
    if (image.note.len > 0) {
        buf_addf(&text, "\n[%s]", buf_cstr(&image.note));
    }
    if (!buf_ok(&text) || !tool_result_text(result, buf_sv(&text)) ||
        (image.base64.len > 0 && !add_image(&result->content, &image))) {
        status = error_nomem(err);
    }
    buf_finish(&text);
    image_finish(&image);
    return status;
}
