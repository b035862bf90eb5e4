#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "sys/clock.h"

static void test_iso(void **state)
{
    (void)state;
    char text[25];
    clock_iso(text, 0);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_iso(text, 1769860800123);
    assert_string_equal(text, "2026-01-31T12:00:00.123Z");
    clock_iso(text, -1);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    clock_iso(text, INT64_MAX);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_iso(text, INT64_MIN);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
}

static void test_date(void **state)
{
    (void)state;
    char text[11];
    clock_date(text);
    assert_int_equal(strlen(text), 10);
    assert_true(strncmp(text, "20", 2) == 0);
    assert_true(text[4] == '-' && text[7] == '-');
}

static void test_mono_goes_forward(void **state)
{
    (void)state;
    int64_t before = clock_mono_ms();
    const struct timespec pause = {.tv_nsec = 5000000};
    nanosleep(&pause, NULL);
    int64_t after = clock_mono_ms();
    assert_true(after >= before + 4);
    assert_true(after < before + 5000);
}

static void test_unix_agrees_with_time(void **state)
{
    (void)state;
    int64_t ms = clock_unix_ms();
    int64_t seconds = (int64_t)time(NULL);
    assert_true(ms / 1000 >= seconds - 1 && ms / 1000 <= seconds + 1);
}

static void test_iso_is_read(void **state)
{
    (void)state;
    static const int64_t times[] = {0,  1,         999,          1769860800250,
                                    -1, -86400000, 951825600000, 4102444799999};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[25];
        int64_t ms = 7;
        clock_iso(text, times[i]);
        assert_true(clock_parse_iso(&ms, text));
        assert_int_equal(ms, times[i]);
        // Cut at every byte it is another form.
        for (size_t n = 0; n < 24; n++) {
            char part[25] = "";
            memcpy(part, text, n);
            assert_false(clock_parse_iso(&ms, part));
            memcpy(part, text, sizeof part);
            part[n] = 'x';
            assert_false(clock_parse_iso(&ms, part));
        }
    }
    int64_t ms = 0;
    assert_true(clock_parse_iso(&ms, "2026-01-31T12:00:00Z"));
    assert_int_equal(ms, 1769860800000);
    assert_false(clock_parse_iso(&ms, "2026-01-31T12:00:00.000+01:00"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iso),
        cmocka_unit_test(test_iso_is_read),
        cmocka_unit_test(test_date),
        cmocka_unit_test(test_mono_goes_forward),
        cmocka_unit_test(test_unix_agrees_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
