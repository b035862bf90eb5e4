#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text/truncate.h"

static void check_kept(struct truncation t, const char *kept, size_t lines)
{
    assert_int_equal(t.kept.n, strlen(kept));
    assert_memory_equal(t.kept.p, kept, t.kept.n);
    assert_int_equal(t.kept_lines, lines);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    struct truncation t = truncate_head(sv_of("a\nb\n"), 2, 4);
    assert_false(t.truncated);
    assert_int_equal(t.total_lines, 2);
    assert_int_equal(t.total_bytes, 4);
    check_kept(t, "a\nb\n", 2);
    t = truncate_tail(sv_of("a\nb\n"), 2, 4);
    assert_false(t.truncated);
    check_kept(t, "a\nb\n", 2);
    t = truncate_tail(sv_of(""), 0, 0);
    assert_false(t.truncated);
    assert_int_equal(t.total_lines, 0);
}

// A final LF starts no line and is no reason to say that something was cut.
static void test_final_lf(void **state)
{
    (void)state;
    struct truncation t = truncate_head(sv_of("a\nb\n"), 2, 3);
    assert_false(t.truncated);
    check_kept(t, "a\nb", 2);
    t = truncate_tail(sv_of("a\nb\n"), 2, 3);
    assert_false(t.truncated);
    check_kept(t, "a\nb", 2);
    t = truncate_tail(sv_of("\n"), 1, 0);
    assert_false(t.truncated);
    assert_int_equal(t.total_lines, 1);
}

static void test_head_by_lines(void **state)
{
    (void)state;
    struct truncation t = truncate_head(sv_of("a\nb\nc\n"), 2, 100);
    assert_true(t.truncated);
    assert_false(t.by_bytes);
    assert_int_equal(t.total_lines, 3);
    check_kept(t, "a\nb", 2);
    t = truncate_head(sv_of("\n\n\n"), 2, 100);
    check_kept(t, "\n", 2);
    t = truncate_head(sv_of("a"), 0, 100);
    assert_true(t.truncated);
    check_kept(t, "", 0);
}

static void test_head_by_bytes(void **state)
{
    (void)state;
    struct truncation t = truncate_head(sv_of("aa\nbb\ncc"), 9, 5);
    assert_true(t.truncated);
    assert_true(t.by_bytes);
    assert_false(t.first_line_exceeds_limit);
    check_kept(t, "aa\nbb", 2);
    t = truncate_head(sv_of("aa\nbb\ncc"), 9, 4);
    check_kept(t, "aa", 1);
    t = truncate_head(sv_of("aa\nbb"), 9, 1);
    assert_true(t.by_bytes);
    assert_true(t.first_line_exceeds_limit);
    check_kept(t, "", 0);
}

static void test_tail_by_lines(void **state)
{
    (void)state;
    struct truncation t = truncate_tail(sv_of("a\nb\nc\n"), 2, 100);
    assert_true(t.truncated);
    assert_false(t.by_bytes);
    check_kept(t, "b\nc", 2);
    t = truncate_tail(sv_of("a\n\n\n"), 2, 100);
    check_kept(t, "\n", 2);
    t = truncate_tail(sv_of("\na\nb"), 2, 100);
    check_kept(t, "a\nb", 2);
}

static void test_tail_by_bytes(void **state)
{
    (void)state;
    struct truncation t = truncate_tail(sv_of("aa\nbb\ncc\n"), 9, 5);
    assert_true(t.by_bytes);
    assert_false(t.last_line_partial);
    check_kept(t, "bb\ncc", 2);
    t = truncate_tail(sv_of("aa\nbb\ncc"), 9, 4);
    check_kept(t, "cc", 1);
    t = truncate_tail(sv_of("aa\nbcdef\n"), 9, 3);
    assert_true(t.last_line_partial);
    check_kept(t, "def", 1);
}

static void test_tail_partial_line_starts_at_a_character(void **state)
{
    (void)state;
    struct sv euros = sv_of("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
    for (size_t max = 3; max < 9; max++) {
        struct truncation t = truncate_tail(euros, 9, max);
        assert_true(t.last_line_partial);
        assert_int_equal(t.kept.n, max / 3 * 3);
    }
    assert_int_equal(truncate_tail(euros, 9, 2).kept.n, 0);
}

// The limits of the tools: exactly the cap passes, one more does not.
static void test_exact_limits(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int i = 0; i < TRUNCATE_MAX_LINES; i++) {
        buf_adds(&b, "x\n");
    }
    assert_false(
        truncate_head(buf_sv(&b), TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES).truncated);
    assert_false(
        truncate_tail(buf_sv(&b), TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES).truncated);
    buf_adds(&b, "y");
    struct truncation t =
        truncate_tail(buf_sv(&b), TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES);
    assert_true(t.truncated);
    assert_int_equal(t.kept_lines, TRUNCATE_MAX_LINES);
    assert_int_equal(t.total_lines, TRUNCATE_MAX_LINES + 1);
    buf_finish(&b);
}

static void test_json(void **state)
{
    (void)state;
    struct truncation t = truncate_tail(sv_of("a\nb\nc\n"), 2, 100);
    struct json *j = truncation_json(&t, 2, 100);
    struct buf b = {0};
    json_write(&b, j);
    assert_string_equal(
        buf_cstr(&b),
        "{\"truncated\":true,\"truncatedBy\":\"lines\",\"totalLines\":3,\"totalBytes\":6,"
        "\"outputLines\":2,\"outputBytes\":3,\"lastLinePartial\":false,"
        "\"firstLineExceedsLimit\":false,\"maxLines\":2,\"maxBytes\":100}");
    json_destroy(j);
    t = truncate_head(sv_of("a"), SIZE_MAX, 100);
    j = truncation_json(&t, SIZE_MAX, 100);
    assert_int_equal(json_type(json_get(j, "truncatedBy")), JSON_NULL);
    assert_true(json_get_num(j, "maxLines", 0) == 9007199254740991.0);
    json_destroy(j);
    buf_finish(&b);
}

static void check_size(unsigned long long bytes, const char *want)
{
    struct buf b = {0};
    size_format(&b, bytes);
    assert_string_equal(buf_cstr(&b), want);
    buf_finish(&b);
}

static void test_size(void **state)
{
    (void)state;
    check_size(0, "0B");
    check_size(1023, "1023B");
    check_size(1024, "1.0KB");
    check_size(1536, "1.5KB");
    check_size(51200, "50.0KB");
    check_size(2047, "2.0KB");
    check_size(2 * 1024 * 1024, "2.0MB");
    check_size(UINT64_MAX, "17592186044416.0MB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_final_lf),
        cmocka_unit_test(test_head_by_lines),
        cmocka_unit_test(test_head_by_bytes),
        cmocka_unit_test(test_tail_by_lines),
        cmocka_unit_test(test_tail_by_bytes),
        cmocka_unit_test(test_tail_partial_line_starts_at_a_character),
        cmocka_unit_test(test_exact_limits),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
