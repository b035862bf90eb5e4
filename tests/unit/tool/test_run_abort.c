#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "run_bed.h"
#include "tool/mutation_queue.h"

static void abort_ends_what_runs_and_starts_nothing_more(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "bash", "{\"ms\":10000}");
    add(&b, "b", "edit", "{\"key\":\"x\"}");
    b.abort_at_ms = clock_mono_ms() + 200;
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "a+ a! ");
    assert_has(text_of(&b, 0), "Operation aborted");
    assert_has(text_of(&b, 1), "Aborted before it ran");
    assert_string_equal(buf_cstr(&b.events), "a( b( b)! a)! ");
    bed_destroy(&b);
}

static void one_call_can_be_aborted_alone(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, false);
    add_after(&b, "a", "bash", "{\"ms\":10000}", 200);
    add_after(&b, "b", "edit", "{\"key\":\"x\"}", 0);
    add_after(&b, "c", "bash", "{\"ms\":300}", 100000);
    assert_true(pump(&b, 2000));
    assert_true(run_result(b.run, 0)->is_error);
    assert_has(text_of(&b, 1), "Aborted before it ran");
    assert_string_equal(text_of(&b, 2), "ok");
    assert_null(strstr(buf_cstr(&box.order), "b+"));
    bed_destroy(&b);
}

static void a_thread_that_does_not_hear_is_left_to_itself(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"deaf\":true,\"ms\":1500}");
    add(&b, "b", "read", "{\"key\":\"y\",\"deaf\":true,\"ms\":1500}");
    add(&b, "c", "read", "{\"plan_ms\":1500}");
    b.abort_at_ms = clock_mono_ms() + 200;
    int64_t then = clock_mono_ms();
    assert_true(pump(&b, 2000));
    assert_in_range(clock_mono_ms() - then, 390, 1200);
    assert_has(text_of(&b, 0), "file system does not respond");
    assert_has(text_of(&b, 0), "change of x may still be made");
    assert_has(text_of(&b, 1), "file system does not respond");
    assert_has(text_of(&b, 2), "file system does not respond");
    assert_int_equal(atomic_load(&box.holds), 3);

    // The file stays locked until its thread has come back.
    struct mutation_ticket *ticket = NULL;
    then = clock_mono_ms();
    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    struct cancel *patience = NULL;
    assert_int_equal(cancel_create(&patience, NULL, NULL), PI_OK);
    assert_int_equal(mutation_wait(ticket, patience, NULL), PI_OK);
    assert_true(clock_mono_ms() - then > 100);
    mutation_leave(ticket);
    cancel_unref(patience);
    bed_destroy(&b);
}

static void late_notes_do_nothing(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", "{\"deaf\":true,\"ms\":500}");
    b.abort_at_ms = clock_mono_ms() + 100;
    assert_true(pump(&b, 2000));
    for (int i = 0; i < 1000 && atomic_load(&box.holds) > 0; i++) {
        nap(NULL, 1);
    }
    size_t before = b.events.len;
    assert_true(pump(&b, 100));
    for (struct run_note *n = take_notes(50), *next; n; n = next) {
        next = *run_note_link(n);
        run_take(b.run, n);
    }
    assert_true(pump(&b, 100));
    assert_int_equal(b.events.len, before);
    bed_destroy(&b);
}

static void a_thread_inside_the_kernel_outlives_its_runner(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    char path[256], args[300];
    snprintf(path, sizeof path, "%s/fifo-%d", dir ? dir : "/tmp", (int)getpid());
    snprintf(args, sizeof args, "{\"open\":\"%s\"}", path);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", args);
    assert_false(pump(&b, 200));
    int64_t then = clock_mono_ms();
    run_destroy(b.run);
    b.run = NULL;
    assert_in_range(clock_mono_ms() - then, 190, 1000);
    assert_int_equal(atomic_load(&box.holds), 1);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    bed_destroy(&b);
}

static void destroy_gives_commands_their_grace(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "bash", "{\"deaf\":true,\"ms\":400}");
    assert_false(pump(&b, 200));
    run_destroy(b.run);
    b.run = NULL;
    assert_has(buf_cstr(&box.order), "a-");
    bed_destroy(&b);
    run_destroy(NULL);
}

static void waits_for_the_file_in_other_runners(void **state)
{
    (void)state;
    struct bed b;
    struct mutation_ticket *ticket = NULL;
    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\"}");
    assert_false(pump(&b, 200));
    assert_string_equal(buf_cstr(&box.order), "");
    assert_string_equal(buf_cstr(&b.events), "a( ");
    mutation_leave(ticket);
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "a+ a- ");

    assert_int_equal(mutation_enter(&ticket, "x", NULL), PI_OK);
    add(&b, "b", "edit", "{\"key\":\"x\"}");
    assert_false(pump(&b, 30));
    cancel_set(b.cancel);
    assert_true(pump(&b, 1000));
    assert_has(text_of(&b, 1), "nothing was changed");
    mutation_leave(ticket);
    bed_destroy(&b);
}

static void abort_at_any_time(void **state)
{
    (void)state;
    unsigned seed = 12345;
    for (int i = 0; i < 1000; i++) {
        struct bed b;
        bed_create(&b, i % 3 != 0);
        b.asks = i % 5 == 0 ? "c" : NULL;
        add(&b, "a", "edit", "{\"key\":\"x\",\"ms\":1}");
        add(&b, "b", "edit", "{\"key\":\"x\",\"updates\":3}");
        add(&b, "c", "read", "{\"key\":\"y\",\"ms\":1}");
        add_after(&b, "d", "read", "{\"plan_ms\":1}", i % 4);
        add(&b, "e", "bash", "{\"ms\":2}");
        add(&b, "f", "nothing", "{}");
        add(&b, "g", "par", "{\"deaf\":true,\"ms\":1}");
        b.abort_at_ms = clock_mono_ms() + (int)(seed = seed * 1103515245 + 12345) % 7;
        if (i % 7 != 6) {
            assert_true(pump(&b, 5000));
            for (size_t k = 0; k < run_len(b.run); k++) {
                char end[4] = {(char)('a' + k), ')', 0, 0};
                const char *at = strstr(buf_cstr(&b.events), end);
                assert_non_null(at);
                assert_null(strstr(at + 1, end));
                assert_true(run_result(b.run, k)->content.len == 1);
            }
        } else {
            (void)pump(&b, i % 5);
        }
        bed_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abort_ends_what_runs_and_starts_nothing_more),
        cmocka_unit_test(one_call_can_be_aborted_alone),
        cmocka_unit_test(a_thread_that_does_not_hear_is_left_to_itself),
        cmocka_unit_test(late_notes_do_nothing),
        cmocka_unit_test(a_thread_inside_the_kernel_outlives_its_runner),
        cmocka_unit_test(destroy_gives_commands_their_grace),
        cmocka_unit_test(waits_for_the_file_in_other_runners),
        cmocka_unit_test(abort_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
