#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host_work.h"

static void test_utf16(void **state)
{
    (void)state;
    struct work w;
    // U+FEFF a U+1F600 LF z
    static const char le[] = "\xFF\xFE"
                             "a\0\x3D\xD8\x00\xDE\n\0z\0";
    static const char changed[] = "\xFF\xFE"
                                  "a\0\x3D\xD8\x00\xDE\xE9\0\x3D\xD8\x01\xDE\n\0y\0";
    scratch_write(dir, "f", le, sizeof le - 1);
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    assert_int_equal(w.snapshot.encoding, HOST_UTF16_LE);
    assert_string_equal(buf_cstr(&w.snapshot.text), "\xEF\xBB\xBF"
                                                    "a\xF0\x9F\x98\x80\nz");
    struct host_change c[] = {{8, 0, sv_of("\xC3\xA9\xF0\x9F\x98\x81")},
                              {9, 1, sv_of("y")}};
    struct host_change inside = {6, 0, sv_of("x")}, bad = {3, 0, sv_of("\xFF")};
    assert_int_equal(work_apply(&w, &inside, 1), PI_INVALID);
    assert_int_equal(work_apply(&w, &bad, 1), PI_INVALID);
    assert_int_equal(work_apply(&w, c, 2), PI_OK);
    size_t n = 0;
    char *got = scratch_read(dir, "f", &n);
    assert_int_equal(n, sizeof changed - 1);
    assert_memory_equal(got, changed, n);
    free(got);
    work_finish(&w);
}

static void check_be(const char *text, size_t offset, size_t length, const char *expected,
                     size_t expected_len)
{
    struct work w;
    scratch_write(dir, "f", "\xFE\xFF\0a\0b", 6);
    assert_int_equal(work_snapshot(&w, "f"), PI_OK);
    assert_int_equal(w.snapshot.encoding, HOST_UTF16_BE);
    struct host_change c = {offset, length, sv_of(text)};
    assert_int_equal(work_apply(&w, &c, 1), PI_OK);
    size_t n = 0;
    char *got = scratch_read(dir, "f", &n);
    assert_int_equal(n, expected_len);
    assert_memory_equal(got, expected, n);
    free(got);
    work_finish(&w);
}

static void test_utf16_keeps_its_mark(void **state)
{
    (void)state;
    check_be("x", 4, 1, "\xFE\xFF\0a\0x", 6);
    check_be("x", 0, 5, "\xFE\xFF\0x", 4);
    check_be("\xEF\xBB\xBFx", 0, 5, "\xFE\xFF\0x", 4);
    check_be("x", 0, 0, "\xFE\xFF\0x\0a\0b", 8);
    check_be("x", 3, 0, "\xFE\xFF\0x\0a\0b", 8);
    check_be("", 0, 5, "\xFE\xFF", 2);
}

static void test_utf16_that_is_none(void **state)
{
    (void)state;
    static const struct sv cases[] = {
        {"\xFF\xFE\x61", 3},           // odd
        {"\xFF\xFE\x3D\xD8", 4},       // high surrogate at the end
        {"\xFF\xFE\x3D\xD8\x61\0", 6}, // ... before a letter
        {"\xFF\xFE\x00\xDE", 4},       // low surrogate
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work w;
        scratch_write(dir, "f", cases[i].p, cases[i].n);
        assert_int_equal(work_snapshot(&w, "f"), PI_UNSUPPORTED);
        assert_non_null(strstr(w.err.message, "UTF-16"));
        assert_int_equal(w.snapshot.text.len, 0);
        work_finish(&w);
    }
}

static void test_eight_bit(void **state)
{
    (void)state;
    struct pi_error err = {0};
    scratch_text(dir, "f", "caf\xE9\nna\xEFve\nplain\n");
    assert_int_equal(edit("f", "plain", "\xC3\xA9t\xC3\xA9", &err), PI_INVALID);
    assert_non_null(strstr(err.message, "8-bit"));
    assert_int_equal(edit("f", "plain", "ascii", NULL), PI_OK);
    assert_true(scratch_holds(dir, "f", "caf\xE9\nna\xEFve\nascii\n"));
    // When nothing of the old encoding stays, there is nothing to mix with.
    assert_int_equal(edit("f", "caf\xE9\nna\xEFve", "caf\xC3\xA9", NULL), PI_OK);
    assert_true(scratch_holds(dir, "f", "caf\xC3\xA9\nascii\n"));
    // One stray byte does not make another encoding of a file that is UTF-8 otherwise.
    scratch_text(dir, "g", "caf\xC3\xA9 \xE2\x86\x92 \xFF\nplain\n");
    assert_int_equal(edit("g", "plain", "\xC3\xA9t\xC3\xA9", NULL), PI_OK);
    // Characters that stood there already may stay.
    scratch_text(dir, "h", "\xE9\xE9\xE9 \xC3\xA9 x\n");
    assert_int_equal(edit("h", "\xC3\xA9 x", "\xC3\xA9 y", NULL), PI_OK);
    assert_int_equal(edit("h", "y", "\xC3\xA8", NULL), PI_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, work_setup, work_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_utf16),
        TEST(test_utf16_keeps_its_mark),
        TEST(test_utf16_that_is_none),
        TEST(test_eight_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
