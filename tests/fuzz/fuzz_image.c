#include <stdint.h>
#include <stdlib.h>

#include "base/image_info.h"
#include "image.h"
#include "picture.h"

// An image on its way to the model: what is sent fits, and the reason stands there when
// nothing is.

// Large pictures take long and find nothing that small ones do not.
enum { PIXELS_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv bytes = sv_make((const char *)data, size);
    struct image_info info;
    struct image image;
    if (!image_info_read(&info, bytes) ||
        (uint64_t)info.width * info.height > PIXELS_MAX) {
        return 0;
    }
    if (image_make(&image, bytes, false, NULL, NULL) != PI_OK) {
        return 0;
    }
    if (image.base64.len >= IMAGE_BASE64_MAX ||
        (image.base64.len == 0 && image.note.len == 0)) {
        abort();
    }
    struct image_info sent;
    if (image.base64.len > 0 &&
        (!image_info_read_base64(&sent, buf_sv(&image.base64)) ||
         sent.width > IMAGE_SIDE_MAX || sent.height > IMAGE_SIDE_MAX)) {
        abort();
    }
    image_finish(&image);
    return 0;
}
