// usage: upright FILE: whether a PNG or JPEG file shows red at the top left, green at the
// top right and blue at the bottom left, as the large ones of tests/data/images do.

#include <stdlib.h>

#include "picture.h"
#include "sys/file.h"

static bool is_colour(const struct picture *p, int x, int y, const int colour[3])
{
    const unsigned char *at = p->pixels + ((size_t)y * p->width + x) * p->channels;
    return abs(at[0] - colour[0]) < 40 && abs(at[1] - colour[1]) < 40 &&
           abs(at[2] - colour[2]) < 40;
}

int main(int argc, char **argv)
{
    static const int red[] = {255, 0, 0}, green[] = {0, 255, 0}, blue[] = {0, 0, 255};
    struct buf bytes = {0};
    struct picture p = {0};
    bool ok = argc == 2 && file_load(&bytes, argv[1], 64 << 20, NULL) == PI_OK &&
              picture_read(&p, buf_sv(&bytes), NULL) == PI_OK && p.channels >= 3;
    if (ok) {
        int left = p.width / 16, right = p.width - 1 - left;
        int top = p.height / 16, bottom = p.height - 1 - top;
        ok = is_colour(&p, left, top, red) && is_colour(&p, right, top, green) &&
             is_colour(&p, left, bottom, blue);
    }
    picture_finish(&p);
    buf_finish(&bytes);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
