#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "run_bed.h"

/* Order */

static void reads_run_side_by_side_and_results_keep_their_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", "{\"key\":\"x\",\"ms\":250,\"say\":\"slow\"}");
    add(&b, "b", "read", "{\"key\":\"x\",\"say\":\"fast\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&b.events), "b)", "a)");
    assert_int_equal(run_len(b.run), 2);
    assert_string_equal(run_call(b.run, 0)->id, "a");
    assert_string_equal(text_of(&b, 0), "slow");
    assert_string_equal(text_of(&b, 1), "fast");
    bed_destroy(&b);
}

static void failures_before_the_start_end_at_once(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "par", "{\"ms\":250}");
    add(&b, "b", "nothing", "{}");
    add(&b, "c", "par", "{\"ms\":\"many\"}");
    add(&b, "d", "par", "{\"updates\":2}");
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&b.events), "a( b( b)! c( c)! d( du du d) a) ");
    assert_has(text_of(&b, 1), "Unknown tool \"nothing\"");
    assert_has(text_of(&b, 1), "read, edit, bash, par, seq, mask");
    assert_has(text_of(&b, 2), "- ms: must be an integer");
    assert_int_equal(json_type(run_call(b.run, 1)->args), JSON_OBJECT);
    bed_destroy(&b);
}

static void changes_of_one_file_run_in_call_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    // The first is planned last: the others must wait for its key.
    add(&b, "a", "edit", "{\"file\":\"x\",\"plan_ms\":40,\"ms\":250}");
    add(&b, "b", "edit", "{\"key\":\"x\",\"ms\":20}");
    add(&b, "c", "edit", "{\"key\":\"y\",\"ms\":1}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    assert_true(pump(&b, 2000));
    const char *order = buf_cstr(&box.order);
    assert_order(order, "a-", "b+");
    assert_order(order, "b-", "d+");
    assert_order(order, "c-", "a-");
    bed_destroy(&b);
}

static void a_read_after_a_change_of_the_same_file_sees_it(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"plan_ms\":30,\"ms\":250}");
    add(&b, "b", "read", "{\"key\":\"x\"}");
    add(&b, "c", "read", "{\"key\":\"y\"}");
    add(&b, "d", "edit", "{\"key\":\"y\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&box.order), "a-", "b+");
    assert_order(buf_cstr(&box.order), "c-", "d+");
    assert_order(buf_cstr(&box.order), "c-", "a-");
    bed_destroy(&b);
}

static void commands_and_sequential_tools_are_barriers(void **state)
{
    (void)state;
    static const char *const barriers[] = {"bash", "seq"};
    for (size_t i = 0; i < 2; i++) {
        struct bed b;
        bed_create(&b, true);
        add(&b, "a", "edit", "{\"key\":\"x\",\"ms\":30}");
        add(&b, "b", "read", "{\"key\":\"y\",\"ms\":50}");
        add(&b, "c", barriers[i], "{\"ms\":30}");
        add(&b, "d", "read", "{\"key\":\"x\"}");
        add(&b, "e", "par", "{}");
        assert_true(pump(&b, 2000));
        const char *order = buf_cstr(&box.order);
        assert_order(order, "a-", "c+");
        assert_order(order, "b-", "c+");
        assert_order(order, "c-", "d+");
        assert_order(order, "c-", "e+");
        bed_destroy(&b);
    }
}

static void a_parallel_tool_without_a_plan_is_no_barrier(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "par", "{\"ms\":250}");
    add(&b, "b", "par", "{}");
    add(&b, "c", "edit", "{\"key\":\"x\"}");
    assert_true(pump(&b, 2000));
    assert_order(buf_cstr(&box.order), "b-", "a-");
    assert_order(buf_cstr(&box.order), "c-", "a-");
    bed_destroy(&b);
}

static void reads_do_not_wait_for_a_plan_that_hangs(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "edit", "{\"key\":\"x\",\"plan_ms\":1200}");
    add(&b, "b", "read", "{\"key\":\"y\"}");
    add(&b, "c", "edit", "{\"key\":\"y\"}");
    int64_t then = clock_mono_ms();
    assert_false(pump(&b, 700));
    assert_string_equal(buf_cstr(&box.order), "b+ b- ");
    assert_true(pump(&b, 3000));
    assert_true(clock_mono_ms() - then >= 1200);
    assert_order(buf_cstr(&box.order), "b-", "a+");
    bed_destroy(&b);
}

static void without_barriers_only_files_keep_an_order(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, false);
    add(&b, "a", "bash", "{\"ms\":400}");
    add(&b, "b", "seq", "{\"ms\":400}");
    add(&b, "c", "edit", "{\"key\":\"x\",\"plan_ms\":30,\"ms\":20}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    add(&b, "e", "edit", "{\"key\":\"y\"}");
    assert_true(pump(&b, 2000));
    const char *order = buf_cstr(&box.order);
    assert_order(order, "c-", "d+");
    assert_order(order, "d-", "a-");
    assert_order(order, "b+", "a-");
    assert_order(order, "e-", "a-");
    run_prune(b.run);
    assert_int_equal(run_len(b.run), 0);
    bed_destroy(&b);
}

static void a_large_batch_is_run_in_parts(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    for (int i = 0; i < 400; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        add(&b, id, "read", "{\"key\":\"x\",\"ms\":1}");
    }
    assert_true(pump(&b, 20000));
    for (size_t i = 0; i < 400; i++) {
        assert_string_equal(text_of(&b, i), "ok");
    }
    bed_destroy(&b);
}

/* Errors */

static void errors_become_results(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.denies = "d";
    const struct run_request cut = {.id = "c",
                                    .name = "read",
                                    .arguments = sv_of("{\"key\":\"a\"}"),
                                    .abort_after_ms = -1};
    const struct run_request broken = {.id = "i",
                                       .name = "read",
                                       .arguments = sv_of("read the file"),
                                       .abort_after_ms = -1};
    add(&b, "a", "par", "{\"fail\":\"the disk is on fire\"}");
    add(&b, "b", "edit", "{\"no_plan\":\"no such file\"}");
    assert_int_equal(run_add(b.run, &cut, NULL), PI_OK);
    add(&b, "d", "read", "{}");
    add(&b, "e", "hidden", "{}");
    add(&b, "f", "READ", "{}");
    add(&b, "g", "read", "{\"key\":\"a");
    add(&b, "h", "read", "{\"hook_denies\":true}");
    assert_int_equal(run_add(b.run, &broken, NULL), PI_OK);
    assert_true(pump(&b, 2000));
    static const char *const words[] = {"the disk is on fire",
                                        "no such file",
                                        "did not arrive whole",
                                        "outside of the folder",
                                        "is not active",
                                        "Did you mean \"read\"?",
                                        "cut off",
                                        "the hook says no",
                                        "are not JSON"};
    for (size_t i = 0; i < 9; i++) {
        assert_true(run_result(b.run, i)->is_error);
        assert_has(text_of(&b, i), words[i]);
    }
    assert_string_equal(buf_cstr(&box.order), "a+ a- ");
    bed_destroy(&b);
}

static void a_repaired_argument_is_told(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "read", "{\"key\":\"\\ud83d\"}");
    add(&b, "b", "read", "{\"key\":\"whole\"}");
    assert_true(pump(&b, 2000));
    const struct content *told = &run_result(b.run, 0)->content;
    assert_int_equal(told->len, run_result(b.run, 1)->content.len + 1);
    assert_has(buf_cstr(&told->blocks[told->len - 1].text), "U+FFFD");
    bed_destroy(&b);
}

static void tool_threads_leave_signals_to_the_process(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    add(&b, "a", "mask", "{}");
    assert_true(pump(&b, 2000));
    assert_string_equal(text_of(&b, 0), "right");
    bed_destroy(&b);
}

/* Questions */

static void a_question_blocks_only_what_must_wait(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "a";
    add(&b, "a", "edit", "{\"key\":\"x\"}");
    add(&b, "b", "read", "{\"key\":\"y\"}");
    add(&b, "c", "edit", "{\"key\":\"y\"}");
    add(&b, "d", "edit", "{\"key\":\"x\"}");
    add(&b, "e", "bash", "{}");
    assert_false(pump(&b, 300));
    assert_string_equal(buf_cstr(&box.order), "b+ b- c+ c- ");
    assert_has(buf_cstr(&b.events), "a? ");
    run_answer(b.run, "zzz", true, NULL);
    run_answer(b.run, "a", true, NULL);
    run_answer(b.run, "a", false, "too late");
    assert_true(pump(&b, 2000));
    assert_string_equal(buf_cstr(&box.order), "b+ b- c+ c- a+ a- d+ d- e+ e- ");
    assert_null(strstr(buf_cstr(&b.events), "??"));
    bed_destroy(&b);
}

static void a_refused_call_tells_the_reason(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "ab";
    add(&b, "a", "read", "{}");
    add(&b, "b", "read", "{}");
    assert_false(pump(&b, 200));
    run_answer(b.run, "a", false, "use the other file");
    run_answer(b.run, "b", false, NULL);
    assert_true(pump(&b, 2000));
    assert_string_equal(text_of(&b, 0),
                        "The user did not allow this call: use the other file");
    assert_string_equal(text_of(&b, 1), "The user did not allow this call.");
    assert_string_equal(buf_cstr(&box.order), "");
    bed_destroy(&b);
}

static void abort_withdraws_a_question(void **state)
{
    (void)state;
    struct bed b;
    bed_create(&b, true);
    b.asks = "a";
    add(&b, "a", "read", "{}");
    assert_false(pump(&b, 200));
    cancel_set(b.cancel);
    assert_true(pump(&b, 1000));
    assert_string_equal(buf_cstr(&b.events), "a? a?? a( a)! ");
    run_answer(b.run, "a", true, NULL);
    assert_true(pump(&b, 1000));
    bed_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_run_side_by_side_and_results_keep_their_order),
        cmocka_unit_test(failures_before_the_start_end_at_once),
        cmocka_unit_test(changes_of_one_file_run_in_call_order),
        cmocka_unit_test(a_read_after_a_change_of_the_same_file_sees_it),
        cmocka_unit_test(commands_and_sequential_tools_are_barriers),
        cmocka_unit_test(a_parallel_tool_without_a_plan_is_no_barrier),
        cmocka_unit_test(reads_do_not_wait_for_a_plan_that_hangs),
        cmocka_unit_test(without_barriers_only_files_keep_an_order),
        cmocka_unit_test(a_large_batch_is_run_in_parts),
        cmocka_unit_test(errors_become_results),
        cmocka_unit_test(a_repaired_argument_is_told),
        cmocka_unit_test(tool_threads_leave_signals_to_the_process),
        cmocka_unit_test(a_question_blocks_only_what_must_wait),
        cmocka_unit_test(a_refused_call_tells_the_reason),
        cmocka_unit_test(abort_withdraws_a_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
