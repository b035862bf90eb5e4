#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"

static void test_empty_buffer_is_valid(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_true(buf_ok(&b));
    assert_string_equal(buf_cstr(&b), "");
    assert_int_equal(buf_sv(&b).n, 0);
    buf_add(&b, NULL, 0);
    buf_truncate(&b, 0);
    buf_drop(&b, 3);
    buf_clear(&b);
    char *text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
    buf_finish(&b);
    buf_finish(NULL);
}

static void test_appends(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_adds(&b, "ab");
    buf_addc(&b, '\0');
    buf_addsv(&b, sv_make("cde", 2));
    buf_addf(&b, "%d-%s", 42, "x");
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.data, "ab\0cd42-x", 10);
    buf_drop(&b, 3);
    assert_string_equal(buf_cstr(&b), "cd42-x");
    buf_truncate(&b, 100);
    buf_truncate(&b, 2);
    assert_string_equal(buf_cstr(&b), "cd");
    buf_drop(&b, 100);
    assert_string_equal(buf_cstr(&b), "");
    buf_finish(&b);
}

static void test_format_longer_than_the_room(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int n = 0; n < 3000; n += 7) {
        buf_addf(&b, "%*s|", n, "");
        assert_int_equal(b.data[b.len - 1], '|');
        assert_int_equal(b.data[b.len], '\0');
    }
    size_t before = b.len;
    buf_addf(&b, "%*s", 5000000, "");
    assert_int_equal(b.len - before, 5000000);
    assert_int_equal(strlen(b.data), b.len);
    buf_finish(&b);
}

static void test_failure_is_remembered(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_adds(&b, "kept");
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_false(buf_ok(&b));
    buf_adds(&b, "lost");
    assert_string_equal(buf_cstr(&b), "kept");
    assert_null(buf_take(&b));
    assert_true(buf_ok(&b));
    assert_false(buf_reserve(&b, SIZE_MAX));
    buf_clear(&b);
    assert_true(buf_ok(&b));
}

static void test_take_hands_over(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_adds(&b, "text");
    char *text = buf_take(&b);
    assert_string_equal(text, "text");
    assert_null(b.data);
    free(text);
}

static void test_vec_grow(void **state)
{
    (void)state;
    size_t cap = 0;
    int *items = vec_grow(NULL, &cap, 1, sizeof *items);
    assert_non_null(items);
    assert_true(cap >= 1);
    assert_null(vec_grow(items, &cap, SIZE_MAX / 2, sizeof *items));
    free(items);
}

static void test_lines(void **state)
{
    (void)state;
    struct sv rest = sv_of("a\r\n\nb\n");
    struct sv line;
    assert_true(sv_next_line(&rest, &line));
    assert_true(sv_eqs(line, "a\r"));
    assert_true(sv_next_line(&rest, &line));
    assert_int_equal(line.n, 0);
    assert_true(sv_next_line(&rest, &line));
    assert_true(sv_eqs(line, "b"));
    assert_false(sv_next_line(&rest, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_buffer_is_valid),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_format_longer_than_the_room),
        cmocka_unit_test(test_failure_is_remembered),
        cmocka_unit_test(test_take_hands_over),
        cmocka_unit_test(test_vec_grow),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
