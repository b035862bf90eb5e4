#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/image_info.h"

// The header of an image, as bytes and as base64: the same must be found.

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf base64 = {0};
    struct image_info plain = {0}, coded = {0};
    struct sv bytes = sv_make((const char *)data, size);
    // base64 stands for whole groups of three, so that the end is the same.
    bytes.n -= bytes.n % 3;
    base64_add(&base64, bytes);
    bool known = image_info_read(&plain, bytes);
    if (bytes.n > 0 && image_info_read_base64(&coded, buf_sv(&base64)) != known) {
        abort();
    }
    if (known && size < 96 * 1024 &&
        (plain.mime_type != coded.mime_type || plain.width != coded.width ||
         plain.height != coded.height || plain.orientation != coded.orientation ||
         plain.frame_at != coded.frame_at)) {
        abort();
    }
    if (known && (plain.orientation < 1 || plain.orientation > 8 ||
                  (plain.frame_at > 0 && plain.frame_at >= size))) {
        abort();
    }
    buf_finish(&base64);
    return 0;
}
