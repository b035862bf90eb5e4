// link: pi-nvim-rpc
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "base/buf.h"
#include "frame.h"
#include "random.h"

// Feeds bytes in pieces of `piece`; returns the result and where it came.
static enum frame_result feed(struct frame *f, const void *bytes, size_t len,
                              size_t piece, size_t *at)
{
    enum frame_result result = FRAME_MORE;
    for (*at = 0; *at < len && result == FRAME_MORE;) {
        size_t n = len - *at < piece ? len - *at : piece;
        size_t used;
        result = frame_feed(f, (const char *)bytes + *at, n, &used);
        *at += used;
    }
    return result;
}

static void expect(const char *bytes, size_t len, enum frame_result wanted, size_t at)
{
    for (size_t piece = 1; piece <= len; piece++) {
        struct frame f = {0};
        size_t got;
        assert_int_equal(feed(&f, bytes, len, piece, &got), wanted);
        assert_int_equal(got, at);
    }
}

#define EXPECT(bytes, wanted, at) expect(bytes, sizeof(bytes) - 1, wanted, at)

static void every_kind_ends_where_it_ends(void **state)
{
    (void)state;
    EXPECT("\x00+", FRAME_END, 1);
    EXPECT("\x7f+", FRAME_END, 1);
    EXPECT("\xe0+", FRAME_END, 1);
    EXPECT("\xff+", FRAME_END, 1);
    EXPECT("\xc0+", FRAME_END, 1);
    EXPECT("\xc2+", FRAME_END, 1);
    EXPECT("\xc3+", FRAME_END, 1);
    EXPECT("\xc4\x02xx+", FRAME_END, 4);
    EXPECT("\xc5\x00\x02xx+", FRAME_END, 5);
    EXPECT("\xc6\x00\x00\x00\x02xx+", FRAME_END, 7);
    EXPECT("\xc7\x02txx+", FRAME_END, 5);
    EXPECT("\xc8\x00\x02txx+", FRAME_END, 6);
    EXPECT("\xc9\x00\x00\x00\x02txx+", FRAME_END, 8);
    EXPECT("\xc7\x00t+", FRAME_END, 3);
    EXPECT("\xcannnn+", FRAME_END, 5);
    EXPECT("\xcbnnnnnnnn+", FRAME_END, 9);
    EXPECT("\xccn+", FRAME_END, 2);
    EXPECT("\xcdnn+", FRAME_END, 3);
    EXPECT("\xcennnn+", FRAME_END, 5);
    EXPECT("\xcfnnnnnnnn+", FRAME_END, 9);
    EXPECT("\xd3nnnnnnnn+", FRAME_END, 9);
    EXPECT("\xd4tx+", FRAME_END, 3);
    EXPECT("\xd5txx+", FRAME_END, 4);
    EXPECT("\xd6txxxx+", FRAME_END, 6);
    EXPECT("\xd7txxxxxxxx+", FRAME_END, 10);
    EXPECT("\xd8txxxxxxxxxxxxxxxx+", FRAME_END, 18);
    EXPECT("\xa0+", FRAME_END, 1);
    EXPECT("\xa2xx+", FRAME_END, 3);
    EXPECT("\xd9\x00+", FRAME_END, 2);
    EXPECT("\xd9\x02xx+", FRAME_END, 4);
    EXPECT("\xda\x00\x02xx+", FRAME_END, 5);
    EXPECT("\xdb\x00\x00\x00\x02xx+", FRAME_END, 7);
    EXPECT("\x90+", FRAME_END, 1);
    EXPECT("\x80+", FRAME_END, 1);
    EXPECT("\x92\x01\x02+", FRAME_END, 3);
    EXPECT("\x92\x91\x90\x80+", FRAME_END, 4);
    EXPECT("\x81\xa1k\x92\x01\xa1v+", FRAME_END, 7);
    EXPECT("\xdc\x00\x02\x01\x02+", FRAME_END, 5);
    EXPECT("\xdd\x00\x00\x00\x01\x01+", FRAME_END, 6);
    EXPECT("\xde\x00\x01\x01\x02+", FRAME_END, 5);
    EXPECT("\xdf\x00\x00\x00\x01\x01\x02+", FRAME_END, 7);
}

static void what_is_incomplete_waits(void **state)
{
    (void)state;
    EXPECT("\x92\x01", FRAME_MORE, 2);
    EXPECT("\xda\x00", FRAME_MORE, 2);
    EXPECT("\xa3xx", FRAME_MORE, 3);
    EXPECT("\x81\xa1k", FRAME_MORE, 3);
}

static void nonsense_is_refused_at_once(void **state)
{
    (void)state;
    EXPECT("\xc1+", FRAME_BAD, 1);
    EXPECT("\x92\x01\xc1+", FRAME_BAD, 3);
    // Five bytes that announce gigabytes.
    EXPECT("\xdd\x0f\xff\xff\xff+", FRAME_BAD, 5);
    EXPECT("\xdf\x0f\xff\xff\xff+", FRAME_BAD, 5);
    EXPECT("\xdf\xff\xff\xff\xff+", FRAME_BAD, 5);
    EXPECT("\xdb\xff\xff\xff\xff+", FRAME_BAD, 5);
    EXPECT("\xc6\x04\x00\x00\x00+", FRAME_BAD, 5);
    EXPECT("\xc9\xff\xff\xff\xff+", FRAME_BAD, 5);
}

static void sixteen_levels_and_no_more(void **state)
{
    (void)state;
    char bytes[19];
    memset(bytes, '\x91', sizeof bytes);
    bytes[16] = '\x01';
    expect(bytes, 18, FRAME_END, 17);
    bytes[16] = '\x90'; // an empty one counts, too
    expect(bytes, 18, FRAME_BAD, 17);
    bytes[16] = '\x80';
    expect(bytes, 18, FRAME_BAD, 17);
}

static void many_values_are_too_many(void **state)
{
    (void)state;
    size_t n = FRAME_VALUES_MAX;
    char *bytes = malloc(n + 5);
    assert_non_null(bytes);
    memcpy(bytes, "\xdd\x00\x10\x00\x00", 5);
    memset(bytes + 5, 0, n);
    struct frame f = {0};
    size_t at;
    assert_int_equal(feed(&f, bytes, n + 5, 4096, &at), FRAME_BAD);
    bytes[2] = '\x0f'; // one less than 2^20, with the array itself
    bytes[3] = bytes[4] = '\xff';
    f = (struct frame){0};
    assert_int_equal(feed(&f, bytes, n + 5, 4096, &at), FRAME_END);
    assert_int_equal(at, n + 4);
    free(bytes);
}

// A message of full size ends; one byte more is refused at the header.
static void the_size_has_a_limit(void **state)
{
    (void)state;
    struct frame f = {0};
    size_t used;
    unsigned char head[] = {0xdb, 0, 0, 0, 0};
    uint32_t n = FRAME_BYTES_MAX - 5;
    for (int i = 0; i < 4; i++) {
        head[1 + i] = (unsigned char)(n >> (24 - 8 * i));
    }
    assert_int_equal(frame_feed(&f, head, 5, &used), FRAME_MORE);
    char *zeros = calloc(1, 1024 * 1024);
    assert_non_null(zeros);
    enum frame_result result = FRAME_MORE;
    size_t total = 5;
    while (result == FRAME_MORE && total < 2 * (size_t)FRAME_BYTES_MAX) {
        result = frame_feed(&f, zeros, 1024 * 1024, &used);
        total += used;
    }
    free(zeros);
    assert_int_equal(result, FRAME_END);
    assert_int_equal(total, FRAME_BYTES_MAX);
    head[4]++;
    f = (struct frame){0};
    assert_int_equal(frame_feed(&f, head, 5, &used), FRAME_BAD);
}

static void pack_random(msgpack_packer *pk, struct random *r, unsigned depth)
{
    char bytes[300];
    uint64_t number = (uint64_t)random_below(r, UINT32_MAX) << 33;
    uint32_t what = random_below(r, depth < 14 ? 10 : 7);
    size_t n = random_below(r, random_below(r, 4) ? 8 : sizeof bytes);
    memset(bytes, (int)random_below(r, 256), sizeof bytes);
    switch (what) {
    case 0:
        msgpack_pack_nil(pk);
        break;
    case 1:
        msgpack_pack_int64(pk, (int64_t)(number >> random_below(r, 64)));
        break;
    case 2:
        msgpack_pack_int64(pk, -(int64_t)(number >> (1 + random_below(r, 63))));
        break;
    case 3:
        msgpack_pack_double(pk, 0.5);
        break;
    case 4:
        msgpack_pack_str(pk, n);
        msgpack_pack_str_body(pk, bytes, n);
        break;
    case 5:
        msgpack_pack_bin(pk, n);
        msgpack_pack_bin_body(pk, bytes, n);
        break;
    case 6:
        msgpack_pack_ext(pk, n, 1);
        msgpack_pack_ext_body(pk, bytes, n);
        break;
    case 7:
        n = n % 6;
        msgpack_pack_map(pk, n);
        for (size_t i = 0; i < 2 * n; i++) {
            pack_random(pk, r, depth + 1);
        }
        break;
    default:
        n = n % 20;
        msgpack_pack_array(pk, n);
        for (size_t i = 0; i < n; i++) {
            pack_random(pk, r, depth + (n > 4 ? 4 : 1));
        }
    }
}

// What the library writes ends where the library says, however it is cut.
static void agrees_with_the_library(void **state)
{
    (void)state;
    struct random r = {.state = 7};
    struct frame f = {0};
    for (int i = 0; i < 2000; i++) {
        msgpack_sbuffer out;
        msgpack_packer pk;
        msgpack_sbuffer_init(&out);
        msgpack_packer_init(&pk, &out, msgpack_sbuffer_write);
        pack_random(&pk, &r, 0);
        size_t at;
        size_t piece = 1 + random_below(&r, (uint32_t)out.size);
        assert_int_equal(feed(&f, out.data, out.size, piece, &at), FRAME_END);
        assert_int_equal(at, out.size);
        msgpack_sbuffer_destroy(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_ends_where_it_ends),
        cmocka_unit_test(what_is_incomplete_waits),
        cmocka_unit_test(nonsense_is_refused_at_once),
        cmocka_unit_test(sixteen_levels_and_no_more),
        cmocka_unit_test(many_values_are_too_many),
        cmocka_unit_test(the_size_has_a_limit),
        cmocka_unit_test(agrees_with_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
