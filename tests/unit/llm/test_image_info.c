#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "llm/image_info.h"

static void encode(struct buf *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)bytes[i] << 16;
        bits |= i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0;
        bits |= i + 2 < n ? (unsigned)bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++) {
            buf_addc(out, i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
        }
    }
}

static void expect(const char *bytes, size_t n, const char *mime_type, unsigned width,
                   unsigned height)
{
    struct buf text = {0};
    struct image_info info;
    encode(&text, (const unsigned char *)bytes, n);
    assert_int_equal(image_info_read(&info, buf_sv(&text)), mime_type != NULL);
    if (mime_type) {
        assert_string_equal(info.mime_type, mime_type);
        assert_int_equal(info.width, width);
        assert_int_equal(info.height, height);
    }
    buf_finish(&text);
}

#define EXPECT(bytes, ...) expect(bytes, sizeof(bytes) - 1, __VA_ARGS__)

static void knows_four_kinds_by_their_bytes(void **state)
{
    (void)state;
    EXPECT("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\1\2\0\0\3\4", "image/png", 0x102, 0x304);
    EXPECT("GIF89a\2\1\4\3", "image/gif", 0x102, 0x304);
    EXPECT("RIFF....WEBPVP8X........\1\1\0\3\3\0", "image/webp", 0x102, 0x304);
    EXPECT("RIFF....WEBPVP8L....\x2f\x01\xc1\xc0\x00", "image/webp", 0x102, 0x304);
    EXPECT("RIFF....WEBPVP8 ....\0\0\0\x9d\1\x2a\2\1\4\3", "image/webp", 0x102, 0x304);
    EXPECT("\xff\xd8\xff\xe0\0\4ab\xff\xff\xc0\0\x0b\x08\3\4\1\2\1", "image/jpeg", 0x102,
           0x304);
    EXPECT("\xff\xd8\xff\xc4\0\4ab\xff\xc2\0\x0b\x08\3\4\1\2\1", "image/jpeg", 0x102,
           0x304);
}

static void a_size_may_be_missing(void **state)
{
    (void)state;
    EXPECT("\xff\xd8\xff\xd9", "image/jpeg", 0, 0);
    EXPECT("\xff\xd8\xff\xe0\xff\xff", "image/jpeg", 0, 0);
    EXPECT("\x89PNG\r\n\x1a\n", "image/png", 0, 0);
    EXPECT("GIF8", "image/gif", 0, 0);
    EXPECT("RIFF....WEBPVP9 ", "image/webp", 0, 0);
}

static void knows_nothing_else(void **state)
{
    (void)state;
    EXPECT("BM1234", NULL, 0, 0);
    EXPECT("RIFF....WAVE", NULL, 0, 0);
    EXPECT("\x89PN", NULL, 0, 0);
    EXPECT("<svg>", NULL, 0, 0);
    EXPECT("", NULL, 0, 0);
}

static void finds_the_size_behind_a_preview(void **state)
{
    (void)state;
    size_t n = 2 + 4 + 65531 + 11;
    char *bytes = calloc(1, n);
    memcpy(bytes, "\xff\xd8\xff\xe1\xff\xfd", 6);
    memcpy(bytes + 2 + 2 + 0xfffd, "\xff\xc0\0\x0b\x08\3\4\1\2\1", 10);
    expect(bytes, n, "image/jpeg", 0x102, 0x304);
    free(bytes);
}

static void text_that_is_not_base64_is_no_image(void **state)
{
    (void)state;
    static const char *const rows[] = {"",          "R0lGODlh=", "R0lG ODlh",
                                       "R0lG\nODl", "R0lGODl",   "R0lG-DlhA",
                                       "====",      "R===",      "R0lGO=lhAA"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct image_info info;
        assert_false(image_info_read(&info, sv_of(rows[i])));
    }
    struct image_info info;
    assert_true(image_info_read(&info, sv_of("R0lGODlh")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_four_kinds_by_their_bytes),
        cmocka_unit_test(a_size_may_be_missing),
        cmocka_unit_test(knows_nothing_else),
        cmocka_unit_test(finds_the_size_behind_a_preview),
        cmocka_unit_test(text_that_is_not_base64_is_no_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
