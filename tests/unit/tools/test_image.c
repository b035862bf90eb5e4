#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "image.h"
#include "picture.h"
#include "tool_fixture.h"

// The pictures of tests/data/images: red at the top left, green at the top right, blue at
// the bottom left.

static struct buf load(const char *name)
{
    char path[1024];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "%s/images/%s", getenv("PI_TEST_DATA"), name);
    assert_int_equal(file_load(&bytes, path, 1 << 20, NULL), PI_OK);
    return bytes;
}

static struct image make(struct sv bytes)
{
    struct image image;
    struct pi_error err = {0};
    if (image_make(&image, bytes, false, NULL, &err) != PI_OK) {
        fail_msg("%s", err.message);
    }
    return image;
}

static struct buf decode(const struct buf *base64)
{
    struct buf out = {0};
    for (size_t i = 0; i < base64->len; i += 4) {
        unsigned bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = base64_digit(base64->data[i + k]);
            bits = bits << 6 | (unsigned)(digit < 0 ? 0 : digit);
        }
        char three[] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        size_t n = base64->data[i + 2] == '=' ? 1 : base64->data[i + 3] == '=' ? 2 : 3;
        buf_add(&out, three, n);
    }
    return out;
}

static bool is_colour(const struct picture *p, int x, int y, const int colour[3])
{
    const unsigned char *at = p->pixels + ((size_t)y * p->width + x) * p->channels;
    for (int i = 0; i < 3; i++) {
        if (abs(at[p->channels < 3 ? 0 : i] - colour[i]) > 40) {
            return false;
        }
    }
    return true;
}

static void expect_upright(const struct picture *p)
{
    static const int red[] = {255, 0, 0}, green[] = {0, 255, 0}, blue[] = {0, 0, 255};
    int left = p->width / 16, right = p->width - 1 - left;
    int top = p->height / 16, bottom = p->height - 1 - top;
    assert_true(is_colour(p, left, top, red));
    assert_true(is_colour(p, right, top, green));
    assert_true(is_colour(p, left, bottom, blue));
}

// What arrives for a file: same = its own bytes.
struct wanted {
    const char *name, *mime_type;
    int width, height;
    bool same, colours;
    const char *note;
};

static void expect(const struct wanted *w)
{
    struct buf bytes = load(w->name);
    struct image image = make(buf_sv(&bytes));
    struct buf sent = decode(&image.base64);
    struct picture p = {0};
    print_message("%s: %s\n", w->name, buf_cstr(&image.note));
    assert_string_equal(buf_cstr(&image.note), w->note);
    assert_string_equal(image.mime_type, w->mime_type);
    assert_int_equal(sv_eq(buf_sv(&sent), buf_sv(&bytes)), w->same);
    if (w->width > 0) {
        assert_int_equal(picture_read(&p, buf_sv(&sent), NULL), PI_OK);
        assert_int_equal(p.width, w->width);
        assert_int_equal(p.height, w->height);
    }
    if (w->colours) {
        expect_upright(&p);
    }
    picture_finish(&p);
    buf_finish(&sent);
    buf_finish(&bytes);
    image_finish(&image);
}

#define SHOWN(from, to, factor)                                                          \
    "The image is " from " pixels and is shown at " to                                   \
    ": multiply coordinates by " factor " to find them in the file."

static void small_ones_stay_as_they_are(void **state)
{
    (void)state;
    static const struct wanted rows[] = {
        {"one.png", "image/png", 1, 1, true, false, ""},
        {"turned-1.jpg", "image/jpeg", 64, 48, true, true, ""},
        {"progressive.jpg", "image/jpeg", 64, 48, true, true, ""},
        {"cmyk.jpg", "image/jpeg", 64, 48, true, true, ""},
        {"grey.jpg", "image/jpeg", 64, 48, true, false, ""},
        {"animated.png", "image/png", 24, 16, true, true, ""},
        {"animated.gif", "image/gif", 0, 0, true, false, ""},
        {"animated.webp", "image/webp", 0, 0, true, false, ""},
        {"lossless.webp", "image/webp", 0, 0, true, false, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(&rows[i]);
    }
}

static void photos_become_upright(void **state)
{
    (void)state;
    for (int i = 2; i <= 8; i++) {
        char name[32];
        snprintf(name, sizeof name, "turned-%d.jpg", i);
        expect(&(struct wanted){name, "image/jpeg", 64, 48, false, true, ""});
    }
    expect(&(struct wanted){"photo.jpg", "image/jpeg", 2000, 1500, false, true,
                            SHOWN("4000x3000", "2000x1500", "2.00")});
}

static void large_ones_are_scaled(void **state)
{
    (void)state;
#define WIDE SHOWN("2400x48", "2000x40", "1.20")
    static const struct wanted rows[] = {
        {"12-megapixels.png", "image/png", 2000, 1500, false, true,
         SHOWN("4000x3000", "2000x1500", "2.00")},
        {"wide-alpha.png", "image/png", 2000, 40, false, true, WIDE},
        {"wide-grey-alpha.png", "image/png", 2000, 40, false, false, WIDE},
        {"wide-grey.png", "image/png", 2000, 40, false, false, WIDE},
        {"wide-palette.png", "image/png", 2000, 40, false, true, WIDE},
        {"wide-bits.png", "image/png", 2000, 40, false, false, WIDE},
        {"wide-16-bit.png", "image/png", 2000, 40, false, false, WIDE},
        {"wide-cmyk.jpg", "image/jpeg", 2000, 40, false, true, WIDE},
        {"line.png", "image/png", 2000, 1, false, false,
         SHOWN("30000x1", "2000x1", "15.00")},
        {"column.jpg", "image/jpeg", 1, 2000, false, false,
         SHOWN("1x30000", "1x2000", "15.00")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(&rows[i]);
    }
}

static void expect_left_out(struct sv bytes, const char *why)
{
    struct image image = make(bytes);
    assert_int_equal(image.base64.len, 0);
    if (!strstr(buf_cstr(&image.note), why)) {
        fail_msg("'%s' is not in '%s'", why, buf_cstr(&image.note));
    }
    image_finish(&image);
}

static void what_cannot_be_shown_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *name, *why;
    } rows[] = {
        {"bomb-header.png", "50 million pixels"},
        {"bomb-packed.png", "too much memory"},
        {"lying.png", "damaged"},
        {"wide.gif", "only PNG and JPEG"},
        {"wide.webp", "only PNG and JPEG"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf bytes = load(rows[i].name);
        expect_left_out(buf_sv(&bytes), rows[i].why);
        buf_finish(&bytes);
    }
    expect_left_out(sv_of("no image"), "none");

    // No names of errors of the library, and no empty brackets.
    struct buf cut = load("one.png");
    cut.len = 33; // behind IHDR
    expect_left_out(buf_sv(&cut), "left out: it is damaged, cut off or of a rare kind.");
    buf_finish(&cut);
}

// Each beginning of each file (a checksum at the end is not looked at): left out, or
// something that decodes.
static void cut_ones_never_arrive_damaged(void **state)
{
    (void)state;
    static const char *const names[] = {
        "turned-6.jpg", "progressive.jpg", "cmyk.jpg",      "wide-grey.png",
        "animated.png", "animated.gif",    "lossless.webp", "animated.webp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf bytes = load(names[i]);
        for (size_t n = 0; n + 4 < bytes.len; n += 1 + bytes.len / 200) {
            char *cut = malloc(n + 1); // as long as it says, for the sanitizers
            memcpy(cut, bytes.data, n);
            struct image image = make(sv_make(cut, n));
            struct buf sent = decode(&image.base64);
            struct picture p = {0};
            if (sent.len > 0) {
                assert_int_equal(picture_read(&p, buf_sv(&sent), NULL), PI_OK);
                assert_false(sv_eq(buf_sv(&sent), sv_make(cut, n)));
            }
            picture_finish(&p);
            buf_finish(&sent);
            image_finish(&image);
            free(cut);
        }
        buf_finish(&bytes);
    }
}

static struct buf noise(int side, int channels)
{
    struct buf png = {0};
    struct picture p = {.width = side, .height = side, .channels = channels};
    size_t n = (size_t)side * side * channels;
    uint32_t x = 1;
    p.pixels = malloc(n);
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p.pixels[i] = (unsigned char)(x >> 24);
    }
    assert_true(picture_write_png(&png, &p));
    free(p.pixels);
    return png;
}

static void what_has_too_many_bytes_becomes_a_jpeg(void **state)
{
    (void)state;
    struct buf png = noise(950, 4);
    assert_true(base64_size(png.len) > IMAGE_BASE64_MAX);
    struct image image = make(buf_sv(&png));
    assert_string_equal(image.mime_type, "image/jpeg");
    assert_string_equal(buf_cstr(&image.note), "");
    assert_in_range(image.base64.len, 1, IMAGE_BASE64_MAX - 1);
    image_finish(&image);

    assert_int_equal(image_make(&image, buf_sv(&png), true, NULL, NULL), PI_OK);
    struct buf sent = decode(&image.base64);
    assert_true(sv_eq(buf_sv(&sent), buf_sv(&png))); // as it is
    buf_finish(&sent);
    image_finish(&image);
    buf_finish(&png);
}

static void a_jpeg_of_endless_passes_is_refused(void **state)
{
    (void)state;
    struct buf bytes = load("progressive.jpg");
    for (int i = 0; i < 200; i++) {
        buf_add(&bytes, "\xff\xda", 2);
    }
    expect_left_out(buf_sv(&bytes), "passes");
    buf_finish(&bytes);
}

static void an_abort_ends_it(void **state)
{
    (void)state;
    struct cancel *cancel;
    struct image image;
    struct buf bytes = load("12-megapixels.png");
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    assert_int_equal(image_make(&image, buf_sv(&bytes), false, cancel, NULL), PI_ABORTED);
    image_finish(&image);
    cancel_unref(cancel);
    buf_finish(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_stay_as_they_are),
        cmocka_unit_test(photos_become_upright),
        cmocka_unit_test(large_ones_are_scaled),
        cmocka_unit_test(what_cannot_be_shown_is_left_out),
        cmocka_unit_test(cut_ones_never_arrive_damaged),
        cmocka_unit_test(what_has_too_many_bytes_becomes_a_jpeg),
        cmocka_unit_test(a_jpeg_of_endless_passes_is_refused),
        cmocka_unit_test(an_abort_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
