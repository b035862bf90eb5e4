#include "llm/image_info.h"

#include <stddef.h>

// So far the size is looked for: cameras put previews of up to 64 KiB before it.
enum { HEAD_BYTES = 96 * 1024, HEAD_CHARS = HEAD_BYTES / 3 * 4 };

struct head {
    struct sv base64; // whole quads, without padding at the end
    size_t bytes;     // that it stands for
};

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_base64(struct sv text)
{
    if (text.n == 0 || text.n % 4 != 0) {
        return false;
    }
    size_t padding = text.p[text.n - 1] != '=' ? 0 : text.p[text.n - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < text.n - padding; i++) {
        if (digit(text.p[i]) < 0) {
            return false;
        }
    }
    return true;
}

// Byte `at` of what the text stands for, 0 beyond its end.
static unsigned byte_at(const struct head *h, size_t at)
{
    static const unsigned char shift[] = {16, 8, 0};
    if (at >= h->bytes) {
        return 0;
    }
    const char *quad = h->base64.p + at / 3 * 4;
    unsigned bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int d = digit(quad[i]);
        bits = bits << 6 | (d < 0 ? 0 : (unsigned)d);
    }
    return bits >> shift[at % 3] & 0xff;
}

static uint32_t big16(const struct head *h, size_t at)
{
    return byte_at(h, at) << 8 | byte_at(h, at + 1);
}

static uint32_t little16(const struct head *h, size_t at)
{
    return byte_at(h, at + 1) << 8 | byte_at(h, at);
}

static uint32_t little24(const struct head *h, size_t at)
{
    return byte_at(h, at + 2) << 16 | little16(h, at);
}

static bool has(const struct head *h, size_t at, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (byte_at(h, at + i) != (unsigned char)bytes[i]) {
            return false;
        }
    }
    return h->bytes >= at + n;
}

static void read_png(struct image_info *out, const struct head *h)
{
    out->width = big16(h, 16) << 16 | big16(h, 18);
    out->height = big16(h, 20) << 16 | big16(h, 22);
}

static void read_gif(struct image_info *out, const struct head *h)
{
    out->width = little16(h, 6);
    out->height = little16(h, 8);
}

static void read_webp(struct image_info *out, const struct head *h)
{
    if (has(h, 12, "VP8X", 4)) {
        out->width = little24(h, 24) + 1;
        out->height = little24(h, 27) + 1;
    } else if (has(h, 12, "VP8L", 4)) {
        uint32_t bits = little16(h, 21) | little16(h, 23) << 16;
        out->width = (bits & 0x3fff) + 1;
        out->height = (bits >> 14 & 0x3fff) + 1;
    } else if (has(h, 12, "VP8 ", 4)) {
        out->width = little16(h, 26) & 0x3fff;
        out->height = little16(h, 28) & 0x3fff;
    }
}

static bool is_frame(unsigned marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
           marker != 0xcc;
}

static void read_jpeg(struct image_info *out, const struct head *h)
{
    size_t at = 2;
    while (at + 9 < h->bytes && byte_at(h, at) == 0xff) {
        unsigned marker = byte_at(h, at + 1);
        if (is_frame(marker)) {
            out->height = big16(h, at + 5);
            out->width = big16(h, at + 7);
            return;
        }
        at += marker == 0xff ? 1 : 2 + big16(h, at + 2);
    }
}

bool image_info_read(struct image_info *out, struct sv base64)
{
    static const struct {
        const char *mime_type, *magic;
        size_t len;
        void (*read)(struct image_info *, const struct head *);
    } kinds[] = {
        {"image/png", "\x89PNG\r\n\x1a\n", 8, read_png},
        {"image/jpeg", "\xff\xd8\xff", 3, read_jpeg},
        {"image/gif", "GIF8", 4, read_gif},
        {"image/webp", "RIFF", 4, read_webp},
    };
    if (!is_base64(base64)) {
        return false;
    }
    struct head h = {.base64 = base64, .bytes = base64.n / 4 * 3};
    if (base64.n > HEAD_CHARS) {
        h = (struct head){.base64 = sv_sub(base64, 0, HEAD_CHARS), .bytes = HEAD_BYTES};
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (has(&h, 0, kinds[i].magic, kinds[i].len) &&
            (kinds[i].read != read_webp || has(&h, 8, "WEBP", 4))) {
            *out = (struct image_info){.mime_type = kinds[i].mime_type};
            kinds[i].read(out, &h);
            return true;
        }
    }
    return false;
}
