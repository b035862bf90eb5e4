#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/map.h"

static void test_empty(void **state)
{
    (void)state;
    struct map m = {0};
    size_t at = 0;
    struct sv key;
    void *value;
    assert_null(map_get(&m, sv_of("a")));
    assert_null(map_remove(&m, sv_of("a")));
    assert_false(map_next(&m, &at, &key, &value));
    map_finish(&m);
    map_finish(NULL);
}

static void test_set_get_replace_remove(void **state)
{
    (void)state;
    struct map m = {0};
    int one = 1, two = 2;
    char key[] = "key";
    assert_true(map_set(&m, sv_of(key), &one));
    key[0] = 'x'; // the map has a copy
    assert_ptr_equal(map_get(&m, sv_of("key")), &one);
    assert_true(map_set(&m, sv_of("key"), &two));
    assert_int_equal(m.len, 1);
    assert_ptr_equal(map_get(&m, sv_of("key")), &two);
    assert_true(map_set(&m, sv_make("a\0b", 3), &one));
    assert_true(map_set(&m, sv_make(NULL, 0), &two));
    assert_null(map_get(&m, sv_of("a")));
    assert_ptr_equal(map_get(&m, sv_of("")), &two);
    assert_ptr_equal(map_remove(&m, sv_make("a\0b", 3)), &one);
    assert_null(map_get(&m, sv_make("a\0b", 3)));
    map_finish(&m);
}

// Removing half of many keys must not lose any of the others.
static void test_many(void **state)
{
    (void)state;
    enum { N = 5000 };
    static int values[N];
    struct map m = {0};
    char key[16];
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_true(map_set(&m, sv_of(key), &values[i]));
    }
    for (int i = 0; i < N; i += 2) {
        snprintf(key, sizeof key, "k%d", i);
        assert_ptr_equal(map_remove(&m, sv_of(key)), &values[i]);
    }
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_ptr_equal(map_get(&m, sv_of(key)), i % 2 ? &values[i] : NULL);
    }
    size_t at = 0, count = 0;
    struct sv k;
    void *value;
    while (map_next(&m, &at, &k, &value)) {
        count++;
    }
    assert_int_equal(count, N / 2);
    assert_int_equal(m.len, N / 2);
    map_finish(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_set_get_replace_remove),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
