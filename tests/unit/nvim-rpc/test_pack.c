// link: pi-nvim-rpc
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "pack.h"

static void assert_bytes(const struct buf *b, const char *bytes, size_t len)
{
    assert_true(buf_ok(b));
    assert_int_equal(b->len, len);
    assert_memory_equal(b->data, bytes, len);
}

static void values_are_written(void **state)
{
    (void)state;
    struct buf b = {0};
    struct pack p;
    pack_init(&p, &b, 0);
    pack_array(&p, 4);
    pack_number(&p, 7);
    pack_text(&p, sv_of("ab"));
    pack_map(&p, 1);
    pack_text(&p, sv_of(NULL));
    pack_nil(&p);
    pack_array(&p, 0);
    assert_bytes(&b,
                 "\x94\x07\xa2"
                 "ab\x81\xa0\xc0\x90",
                 9);
    assert_int_equal(p.depth, 0);
    buf_finish(&b);
}

static void nest(struct buf *b, unsigned base, unsigned levels)
{
    struct pack p;
    pack_init(&p, b, base);
    for (unsigned i = 0; i < levels; i++) {
        pack_array(&p, 1);
    }
    pack_nil(&p);
}

static void more_than_sixteen_levels_fail(void **state)
{
    (void)state;
    struct buf b = {0};
    nest(&b, 0, 16);
    assert_true(buf_ok(&b));
    buf_finish(&b);
    nest(&b, 0, 17);
    assert_false(buf_ok(&b));
    buf_finish(&b);
    nest(&b, 4, 12);
    assert_true(buf_ok(&b));
    buf_finish(&b);
    nest(&b, 4, 13);
    assert_false(buf_ok(&b));
    buf_finish(&b);
}

static void levels_are_counted_down_again(void **state)
{
    (void)state;
    struct buf b = {0};
    struct pack p;
    pack_init(&p, &b, 0);
    pack_array(&p, 40);
    for (unsigned i = 0; i < 20; i++) {
        pack_map(&p, 1);
        pack_nil(&p);
        pack_array(&p, 1);
        pack_number(&p, i);
        pack_array(&p, 0);
    }
    assert_true(buf_ok(&b));
    assert_int_equal(p.depth, 0);
    buf_finish(&b);
}

static void a_failure_inside_is_a_failure_outside(void **state)
{
    (void)state;
    struct buf inner = {0};
    struct buf outer = {0};
    struct pack p;
    nest(&inner, 0, 17);
    pack_init(&p, &outer, 0);
    pack_array(&p, 1);
    pack_packed(&p, &inner, 1);
    assert_false(buf_ok(&outer));
    buf_finish(&inner);
    buf_finish(&outer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written),
        cmocka_unit_test(more_than_sixteen_levels_fail),
        cmocka_unit_test(levels_are_counted_down_again),
        cmocka_unit_test(a_failure_inside_is_a_failure_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
