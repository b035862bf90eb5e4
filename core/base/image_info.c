#include "base/image_info.h"

#include "base/base64.h"

// So far the size is looked for: cameras put previews of up to 64 KiB before it.
enum { HEAD_CHARS = 96 * 1024 / 3 * 4 };

// The beginning of a file.
struct head {
    struct sv text; // its bytes, or base64 of them: whole quads, no padding at the end
    bool base64;
    size_t bytes; // that it stands for
};

static bool is_base64(struct sv text)
{
    if (text.n == 0 || text.n % 4 != 0) {
        return false;
    }
    size_t padding = text.p[text.n - 1] != '=' ? 0 : text.p[text.n - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < text.n - padding; i++) {
        if (base64_digit(text.p[i]) < 0) {
            return false;
        }
    }
    return true;
}

// Byte `at` of the file, 0 beyond what is known of it.
static unsigned byte_at(const struct head *h, size_t at)
{
    static const unsigned char shift[] = {16, 8, 0};
    if (at >= h->bytes) {
        return 0;
    }
    if (!h->base64) {
        return (unsigned char)h->text.p[at];
    }
    const char *quad = h->text.p + at / 3 * 4;
    unsigned bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int d = base64_digit(quad[i]);
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

// An EXIF block is a TIFF file in small: either order of bytes, a list of tags.
static uint32_t tiff_number(const struct head *h, size_t at, size_t bytes, bool big)
{
    uint32_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        n = n << 8 | byte_at(h, big ? at + i : at + bytes - 1 - i);
    }
    return n;
}

static unsigned read_orientation(const struct head *h, size_t at, size_t end)
{
    enum { TAG_ORIENTATION = 0x112, ENTRY_BYTES = 12, VALUE_AT = 8 };
    bool big = has(h, at, "MM\0*", 4);
    uint32_t list_at = tiff_number(h, at + 4, 4, big);
    if ((!big && !has(h, at, "II*\0", 4)) || list_at >= end - at) {
        return 1;
    }
    size_t entry = at + list_at + 2;
    size_t n = tiff_number(h, at + list_at, 2, big);
    for (; n > 0 && entry + ENTRY_BYTES <= end; n--, entry += ENTRY_BYTES) {
        if (tiff_number(h, entry, 2, big) == TAG_ORIENTATION) {
            uint32_t value = tiff_number(h, entry + VALUE_AT, 2, big);
            return value >= 1 && value <= 8 ? value : 1;
        }
    }
    return 1;
}

static void read_jpeg(struct image_info *out, const struct head *h)
{
    enum { APP1 = 0xe1, EXIF_AT = 4, TIFF_AT = 10 };
    size_t at = 2;
    while (at + 9 < h->bytes && byte_at(h, at) == 0xff) {
        unsigned marker = byte_at(h, at + 1);
        size_t len = big16(h, at + 2);
        if (is_frame(marker)) {
            out->height = big16(h, at + 5);
            out->width = big16(h, at + 7);
            out->frame_at = at;
            return;
        }
        if (marker == APP1 && len + 2 > TIFF_AT && has(h, at + EXIF_AT, "Exif\0\0", 6)) {
            out->orientation = read_orientation(h, at + TIFF_AT, at + 2 + len);
        }
        at += marker == 0xff ? 1 : 2 + len;
    }
}

static bool read_head(struct image_info *out, const struct head *h)
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
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (has(h, 0, kinds[i].magic, kinds[i].len) &&
            (kinds[i].read != read_webp || has(h, 8, "WEBP", 4))) {
            *out = (struct image_info){.mime_type = kinds[i].mime_type, .orientation = 1};
            kinds[i].read(out, h);
            return true;
        }
    }
    return false;
}

bool image_info_read(struct image_info *out, struct sv bytes)
{
    return read_head(out, &(struct head){.text = bytes, .bytes = bytes.n});
}

bool image_info_read_base64(struct image_info *out, struct sv base64)
{
    if (!is_base64(base64)) {
        return false;
    }
    struct sv start = sv_sub(base64, 0, HEAD_CHARS);
    return read_head(
        out, &(struct head){.text = start, .base64 = true, .bytes = start.n / 4 * 3});
}
