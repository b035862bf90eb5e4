#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>

#include "sys/cancel.h"

static bool readable(const struct cancel *c, int wait_ms)
{
    struct pollfd p = {.fd = cancel_fd(c), .events = POLLIN};
    return poll(&p, 1, wait_ms) == 1;
}

static struct cancel *make(struct cancel *parent)
{
    struct cancel *c = NULL;
    assert_int_equal(cancel_create(&c, parent, NULL), PI_OK);
    return c;
}

static void test_set_is_seen_and_stays(void **state)
{
    (void)state;
    struct cancel *c = make(NULL);
    struct pi_error err = {0};
    assert_false(cancel_is_set(c));
    assert_false(readable(c, 0));
    assert_int_equal(cancel_check(c, &err), PI_OK);
    cancel_set(c);
    cancel_set(c);
    assert_true(cancel_is_set(c));
    assert_false(cancel_is_urgent(c));
    assert_true(readable(c, 0));
    assert_true(readable(c, 0));
    assert_int_equal(cancel_check(c, &err), PI_ABORTED);
    assert_int_equal(err.code, PI_ABORTED);
    cancel_unref(c);
}

static void test_null_is_not_set(void **state)
{
    (void)state;
    assert_false(cancel_is_set(NULL));
    assert_false(cancel_is_urgent(NULL));
    assert_int_equal(cancel_check(NULL, NULL), PI_OK);
    cancel_unref(NULL);
}

static void test_urgent_raises_and_is_not_lowered(void **state)
{
    (void)state;
    struct cancel *parent = make(NULL);
    struct cancel *child = make(parent);
    cancel_set(parent);
    assert_false(cancel_is_urgent(child));
    cancel_set_urgent(parent);
    assert_true(cancel_is_urgent(child));
    cancel_set(parent);
    assert_true(cancel_is_urgent(parent));
    assert_true(cancel_is_urgent(child));
    cancel_unref(child);
    cancel_unref(parent);
}

static void test_child_follows_parent_only(void **state)
{
    (void)state;
    struct cancel *parent = make(NULL);
    struct cancel *a = make(parent);
    struct cancel *b = make(parent);
    struct cancel *grandchild = make(a);
    cancel_set(b);
    assert_false(cancel_is_set(parent));
    assert_false(cancel_is_set(a));
    cancel_set(parent);
    assert_true(readable(a, 0));
    assert_true(readable(grandchild, 0));
    cancel_unref(a);
    cancel_unref(b);
    cancel_unref(parent);
    assert_true(cancel_is_set(grandchild));
    cancel_unref(grandchild);
}

static void test_child_of_a_set_parent_is_born_set(void **state)
{
    (void)state;
    struct cancel *parent = make(NULL);
    cancel_set_urgent(parent);
    struct cancel *child = make(parent);
    assert_true(cancel_is_urgent(child));
    assert_true(readable(child, 0));
    cancel_unref(parent);
    cancel_unref(child);
}

static void *make_and_drop(void *data)
{
    struct cancel *parent = data;
    for (int i = 0; i < 300; i++) {
        struct cancel *child = NULL;
        if (cancel_create(&child, parent, NULL) != PI_OK) {
            return data;
        }
        (void)cancel_is_set(child);
        cancel_unref(child);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct cancel *parent = make(NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_drop, parent), 0);
    }
    cancel_set(parent);
    for (int i = 0; i < 3; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    cancel_unref(parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_is_seen_and_stays),
        cmocka_unit_test(test_null_is_not_set),
        cmocka_unit_test(test_urgent_raises_and_is_not_lowered),
        cmocka_unit_test(test_child_follows_parent_only),
        cmocka_unit_test(test_child_of_a_set_parent_is_born_set),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
