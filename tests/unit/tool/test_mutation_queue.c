#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tool/mutation_queue.h"

enum { THREADS = 8, ROUNDS = 200 };

static void test_first_goes_at_once(void **state)
{
    (void)state;
    struct mutation_ticket *a = NULL, *b = NULL;
    assert_int_equal(mutation_enter(&a, "x", NULL), PI_OK);
    assert_int_equal(mutation_enter(&b, "y", NULL), PI_OK);
    assert_int_equal(mutation_wait(a, NULL, NULL), PI_OK);
    assert_int_equal(mutation_wait(b, NULL, NULL), PI_OK);
    assert_int_equal(mutation_wait(b, NULL, NULL), PI_OK);
    mutation_leave(a);
    mutation_leave(b);
    mutation_leave(NULL);
}

struct waiter {
    struct mutation_ticket *ticket;
    struct cancel *cancel;
    atomic_int done;
    enum pi_status status;
    pthread_t thread;
};

static void *wait_in_line(void *data)
{
    struct waiter *w = data;
    w->status = mutation_wait(w->ticket, w->cancel, NULL);
    atomic_store(&w->done, 1);
    return NULL;
}

static void start(struct waiter *w, const char *key)
{
    assert_int_equal(mutation_enter(&w->ticket, key, NULL), PI_OK);
    assert_int_equal(cancel_create(&w->cancel, NULL, NULL), PI_OK);
    assert_int_equal(pthread_create(&w->thread, NULL, wait_in_line, w), 0);
}

static void end(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    mutation_leave(w->ticket);
    cancel_unref(w->cancel);
}

static void test_order_of_arrival(void **state)
{
    (void)state;
    struct mutation_ticket *first = NULL;
    struct waiter w[3] = {0};
    assert_int_equal(mutation_enter(&first, "x", NULL), PI_OK);
    for (int i = 0; i < 3; i++) {
        start(&w[i], "x");
    }
    usleep(20000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(atomic_load(&w[i].done), 0);
    }
    mutation_leave(first);
    for (int i = 0; i < 3; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].status, PI_OK);
        for (int k = i + 1; k < 3; k++) {
            assert_int_equal(atomic_load(&w[k].done), 0);
        }
        mutation_leave(w[i].ticket);
        cancel_unref(w[i].cancel);
    }
}

static void test_cancelled_in_line(void **state)
{
    (void)state;
    struct mutation_ticket *first = NULL;
    struct waiter a = {0}, b = {0};
    assert_int_equal(mutation_enter(&first, "x", NULL), PI_OK);
    start(&a, "x");
    start(&b, "x");
    cancel_set(a.cancel);
    end(&a);
    assert_int_equal(a.status, PI_ABORTED);
    usleep(10000);
    assert_int_equal(atomic_load(&b.done), 0);
    mutation_leave(first);
    end(&b);
    assert_int_equal(b.status, PI_OK);
}

static void test_cancelled_before(void **state)
{
    (void)state;
    struct mutation_ticket *t = NULL;
    struct cancel *cancel = NULL;
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    assert_int_equal(mutation_enter(&t, "x", NULL), PI_OK);
    assert_int_equal(mutation_wait(t, cancel, NULL), PI_ABORTED);
    mutation_leave(t);
    cancel_unref(cancel);
}

static int counters[2]; // no lock of their own: the queue is what guards them

static void *count_up(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        struct mutation_ticket *t = NULL;
        if (mutation_enter(&t, i % 2 ? "odd" : "even", NULL) != PI_OK ||
            mutation_wait(t, NULL, NULL) != PI_OK) {
            return (void *)1;
        }
        counters[i % 2]++;
        mutation_leave(t);
    }
    return NULL;
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(counters[0], THREADS * ROUNDS / 2);
    assert_int_equal(counters[1], THREADS * ROUNDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_goes_at_once),
        cmocka_unit_test(test_order_of_arrival),
        cmocka_unit_test(test_cancelled_in_line),
        cmocka_unit_test(test_cancelled_before),
        cmocka_unit_test(test_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
