#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/image_info.h"

static void expect(const char *bytes, size_t n, const char *mime_type, unsigned width,
                   unsigned height)
{
    struct buf text = {0};
    struct image_info info, same;
    base64_add(&text, sv_make(bytes, n));
    assert_int_equal(image_info_read(&info, sv_make(bytes, n)), mime_type != NULL);
    assert_int_equal(image_info_read_base64(&same, buf_sv(&text)), mime_type != NULL);
    if (mime_type) {
        assert_string_equal(info.mime_type, mime_type);
        assert_int_equal(info.width, width);
        assert_int_equal(info.height, height);
        assert_memory_equal(&info, &same, sizeof info);
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

// A JPEG with an EXIF block of one tag, in either order of bytes.
static unsigned orientation_of(const char *tiff, size_t n)
{
    struct buf b = {0};
    struct image_info info;
    buf_add(&b, "\xff\xd8\xff\xe1\0", 5);
    buf_addc(&b, (char)(n + 8));
    buf_add(&b, "Exif\0\0", 6);
    buf_add(&b, tiff, n);
    buf_add(&b, "\xff\xc0\0\x0b\x08\3\4\1\2\1", 10);
    assert_true(image_info_read(&info, buf_sv(&b)));
    assert_int_equal(info.width, 0x102);
    assert_int_equal(info.frame_at, b.len - 10);
    for (size_t cut = 0; cut < b.len; cut++) { // never reads beyond its end
        char *part = malloc(cut + 1);
        memcpy(part, b.data, cut);
        struct image_info of_part;
        (void)image_info_read(&of_part, sv_make(part, cut));
        free(part);
    }
    buf_finish(&b);
    return info.orientation;
}

#define ORIENTATION(tiff) orientation_of(tiff, sizeof(tiff) - 1)

static void finds_how_a_photo_was_held(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION("II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"), 6);
    assert_int_equal(ORIENTATION("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\3\0\0"), 3);
    assert_int_equal(ORIENTATION("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\x9\0\0"), 1);
    assert_int_equal(ORIENTATION("MM\0*\0\0\0\10\xff\xff\1\x10\0\3\0\0\0\1\0\3\0\0"), 1);
    assert_int_equal(ORIENTATION("II*\0\xff\xff\xff\xff\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"),
                     1);
    assert_int_equal(ORIENTATION("II*\0\10\0\0\0\1\0\x12\1\3\0"), 1);
    assert_int_equal(ORIENTATION("XX*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"), 1);
}

static void text_that_is_not_base64_is_no_image(void **state)
{
    (void)state;
    static const char *const rows[] = {"",          "R0lGODlh=", "R0lG ODlh",
                                       "R0lG\nODl", "R0lGODl",   "R0lG-DlhA",
                                       "====",      "R===",      "R0lGO=lhAA"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct image_info info;
        assert_false(image_info_read_base64(&info, sv_of(rows[i])));
    }
    struct image_info info;
    assert_true(image_info_read_base64(&info, sv_of("R0lGODlh")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_four_kinds_by_their_bytes),
        cmocka_unit_test(a_size_may_be_missing),
        cmocka_unit_test(knows_nothing_else),
        cmocka_unit_test(finds_the_size_behind_a_preview),
        cmocka_unit_test(finds_how_a_photo_was_held),
        cmocka_unit_test(text_that_is_not_base64_is_no_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
