#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "host/line_changes.h"

// What was found must lead from one text to the other; returns the number of changes.
static size_t check(const char *before, const char *after)
{
    struct host_change *changes = NULL;
    size_t len = 99;
    struct buf out = {0};
    struct sv old = sv_of(before), new = sv_of(after);
    assert_int_equal(line_changes_make(&changes, &len, old, new, NULL), PI_OK);
    assert_int_equal(host_changed_text(&out, old, changes, len), PI_OK);
    assert_string_equal(buf_cstr(&out), after);
    buf_finish(&out);
    free(changes);
    return len;
}

static void test_places(void **state)
{
    (void)state;
    assert_int_equal(check("", ""), 0);
    assert_int_equal(check("a\nb\n", "a\nb\n"), 0);
    assert_int_equal(check("", "a\nb"), 1);
    assert_int_equal(check("a\nb", ""), 1);
    assert_int_equal(check("a\nb\nc\n", "a\nB\nc\n"), 1);
    assert_int_equal(check("a\nb\nc\n", "0\na\nb\nc"), 2);
    assert_int_equal(check("a\nb\nc\nd\ne\n", "a\nc\nd\nx\ny\ne\n"), 2);
    assert_int_equal(check("a\n", "a"), 1);
}

static void test_lines_stay_whole(void **state)
{
    (void)state;
    struct host_change *changes = NULL;
    size_t len = 0;
    struct sv old = sv_of("one\ntwo\nthree\n"), new = sv_of("one\n2\nthree\n");
    assert_int_equal(line_changes_make(&changes, &len, old, new, NULL), PI_OK);
    assert_int_equal(len, 1);
    assert_int_equal(changes[0].offset, 4);
    assert_int_equal(changes[0].length, 4);
    assert_true(sv_eqs(changes[0].text, "2\n"));
    free(changes);
}

// All pairs of texts of up to five lines out of two kinds, with and without a last LF.
static void test_all_small_texts(void **state)
{
    (void)state;
    enum { TEXTS = 128 };
    char texts[TEXTS][16];
    for (unsigned i = 0; i < TEXTS; i++) {
        size_t n = 0;
        for (unsigned bits = i / 2; bits > 1; bits /= 2) {
            texts[i][n++] = bits % 2 ? 'a' : 'b';
            texts[i][n++] = '\n';
        }
        n -= n > 0 && i % 2;
        texts[i][n] = '\0';
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        for (unsigned k = 0; k < TEXTS; k++) {
            check(texts[i], texts[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_lines_stay_whole),
        cmocka_unit_test(test_all_small_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
