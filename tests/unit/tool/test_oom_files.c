// The memory of files and the queue of changes when an allocation fails.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "oom.h"
#include "tool/memory.h"
#include "tool/mutation_queue.h"

// wrap: malloc calloc realloc strdup

static void test_memory(void **state)
{
    (void)state;
    bool failed = true;
    struct stat st;
    assert_int_equal(stat("/", &st), 0);
    struct file_stamp stamp = file_stamp_of(&st);
    stamp.size++;
    for (size_t n = 1; failed; n++) {
        struct file_memory *m = NULL;
        oom_start(n);
        enum pi_status status = file_memory_create(&m, NULL);
        if (status == PI_OK) {
            file_memory_saw(m, "a", "/", &stamp, 1);
            file_memory_saw(m, "a", "/", &stamp, 2);
            file_memory_after_command(m);
        }
        failed = oom_stop();
        assert_true(status == PI_OK || (failed && status == PI_NOMEM));
        if (m) {
            // What could not be kept is forgotten, never remembered wrongly.
            enum memory_verdict verdict = file_memory_check(m, "a", &stamp, 3);
            assert_true(verdict == MEMORY_SAME || (failed && verdict == MEMORY_UNKNOWN));
        }
        file_memory_destroy(m);
    }
}

static void test_queue(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct mutation_ticket *a = NULL, *b = NULL;
        oom_start(n);
        enum pi_status first = mutation_enter(&a, "x", NULL);
        enum pi_status second = mutation_enter(&b, "x", NULL);
        failed = oom_stop();
        assert_int_equal(first == PI_OK, a != NULL);
        assert_int_equal(second == PI_OK, b != NULL);
        mutation_leave(a);
        // Whoever is left gets its turn.
        assert_true(!b || mutation_wait(b, NULL, NULL) == PI_OK);
        mutation_leave(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
