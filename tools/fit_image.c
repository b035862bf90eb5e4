// Images that the user sends, for faces.

#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "pi_tools.h"

enum pi_status pi_fit_image_make(struct pi_fit_image *out, const void *bytes, size_t len,
                                 bool resize, struct pi_error *err)
{
    struct image image;
    struct image_info info;
    struct sv file = sv_make(bytes, len);
    *out = (struct pi_fit_image){0};
    if (!image_info_read(&info, file)) {
        return error_set(err, PI_UNSUPPORTED, "it is no PNG, JPEG, GIF or WebP image");
    }
    enum pi_status status = image_make(&image, file, !resize, NULL, err);
    if (status != PI_OK) {
        return status;
    }
    bool sent = image.base64.len > 0;
    out->note = strdup(buf_cstr(&image.note));
    out->mime_type = sent ? strdup(image.mime_type) : NULL;
    out->data = sent ? buf_take(&image.base64) : NULL;
    image_finish(&image);
    if (!out->note || (sent && (!out->mime_type || !out->data))) {
        pi_fit_image_finish(out);
        return error_nomem(err);
    }
    return PI_OK;
}

void pi_fit_image_finish(struct pi_fit_image *image)
{
    free(image->mime_type);
    free(image->data);
    free(image->note);
    *image = (struct pi_fit_image){0};
}
