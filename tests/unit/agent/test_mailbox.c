#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/mailbox.h"

struct fixture {
    struct mailbox mailbox;
    unsigned wakes;
};

static void count_wake(void *data)
{
    ((struct fixture *)data)->wakes++;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    return mailbox_init(&f->mailbox, count_wake, f, NULL) != PI_OK;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    mailbox_finish(&f->mailbox);
    free(f);
    return 0;
}

static struct pi_event *delta(const char *text)
{
    struct llm_event e = {.type = LLM_TEXT_DELTA, .delta = sv_of(text)};
    return event_update(&e, NULL);
}

static void wakes_once_until_all_is_taken(void **state)
{
    struct fixture *f = *state;
    mailbox_emit(&f->mailbox, event_notice("info", "1"));
    mailbox_emit(&f->mailbox, event_notice("info", "2"));
    assert_int_equal(f->wakes, 1);
    event_destroy(mailbox_take_event(&f->mailbox));
    assert_false(mailbox_rest(&f->mailbox));
    mailbox_emit(&f->mailbox, event_notice("info", "3"));
    assert_int_equal(f->wakes, 1);
    event_destroy(mailbox_take_event(&f->mailbox));
    event_destroy(mailbox_take_event(&f->mailbox));
    assert_null(mailbox_take_event(&f->mailbox));
    assert_true(mailbox_rest(&f->mailbox));
    mailbox_emit(&f->mailbox, event_notice("info", "4"));
    assert_int_equal(f->wakes, 2);
}

// The face may be gone by then.
static void wakes_nobody_once_it_is_closed(void **state)
{
    struct fixture *f = *state;
    mailbox_close(&f->mailbox);
    mailbox_emit(&f->mailbox, event_notice("info", "1"));
    mailbox_emit(&f->mailbox, NULL);
    assert_int_equal(f->wakes, 0);
}

static void deltas_merge_only_with_their_neighbour(void **state)
{
    struct fixture *f = *state;
    mailbox_emit(&f->mailbox, delta("a"));
    mailbox_emit(&f->mailbox, delta("b"));
    mailbox_emit(&f->mailbox, event_notice("info", "between"));
    mailbox_emit(&f->mailbox, delta("c"));
    struct pi_event *first = mailbox_take_event(&f->mailbox);
    assert_string_equal(pi_event_text(first, NULL), "ab");
    event_destroy(first);
    event_destroy(mailbox_take_event(&f->mailbox));
    struct pi_event *last = mailbox_take_event(&f->mailbox);
    assert_string_equal(pi_event_text(last, NULL), "c");
    event_destroy(last);
    assert_null(mailbox_take_event(&f->mailbox));
}

static void a_lost_event_is_told(void **state)
{
    struct fixture *f = *state;
    mailbox_emit(&f->mailbox, NULL);
    assert_int_equal(f->wakes, 1);
    struct pi_event *e = mailbox_take_event(&f->mailbox);
    assert_int_equal(pi_event_type(e), PI_EVENT_NOTICE);
    event_destroy(e);
    assert_true(mailbox_rest(&f->mailbox));
}

static void one_run_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct pi_error err;
    assert_int_equal(mailbox_start(&f->mailbox, command_create(COMMAND_PROMPT), &err),
                     PI_OK);
    assert_int_equal(mailbox_start(&f->mailbox, command_create(COMMAND_PROMPT), &err),
                     PI_BUSY);
    assert_int_equal(mailbox_start(&f->mailbox, command_create(COMMAND_STEER), &err),
                     PI_OK);
    assert_false(
        mailbox_end_run(&f->mailbox)); // a message has come: it must be served first
    struct command *c;
    struct run_note *notes;
    mailbox_take(&f->mailbox, &c, &notes);
    while (c) {
        struct command *next = c->next;
        command_destroy(c);
        c = next;
    }
    assert_true(mailbox_end_run(&f->mailbox));
    assert_int_equal(mailbox_start(&f->mailbox, command_create(COMMAND_PROMPT), &err),
                     PI_OK);
}

static void abort_reaches_a_run_that_has_not_begun(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mailbox_start(&f->mailbox, command_create(COMMAND_PROMPT), NULL),
                     PI_OK);
    struct cancel *run = mailbox_run_cancel(&f->mailbox);
    struct cancel *calls = mailbox_calls_cancel(&f->mailbox);
    mailbox_abort(&f->mailbox, false);
    assert_true(cancel_is_set(run));
    assert_true(cancel_is_set(calls));
    struct cancel *fresh = mailbox_calls_cancel(&f->mailbox);
    assert_false(cancel_is_set(fresh));
    cancel_unref(run);
    cancel_unref(calls);
    cancel_unref(fresh);
}

static struct host_call *new_call(void)
{
    struct host_call *c = calloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->op = PI_HOST_APPLY;
    c->path = strdup("/tmp/x");
    return c;
}

static bool settled(struct host_call *c)
{
    struct pollfd p = {.fd = c->done_fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void count_release(void *data)
{
    ++*(int *)data;
}

static void a_queued_call_can_be_left_a_taken_one_is_kept(void **state)
{
    struct fixture *f = *state;
    int released = 0;
    struct host_hold hold = {.release = count_release, .data = &released};
    struct host_call *queued = new_call();
    assert_int_equal(mailbox_host_post(&f->mailbox, queued), PI_OK);
    assert_true(mailbox_host_leave(&f->mailbox, queued, &hold));
    assert_null(mailbox_take_call(&f->mailbox));
    assert_non_null(hold.release); // stays with the caller
    host_call_unref(queued);

    struct host_call *taken = new_call();
    assert_int_equal(mailbox_host_post(&f->mailbox, taken), PI_OK);
    struct host_call *seen = mailbox_take_call(&f->mailbox);
    assert_ptr_equal(seen, taken);
    host_call_unref(seen);
    assert_false(mailbox_host_leave(&f->mailbox, taken, &hold));
    assert_null(hold.release);
    assert_int_equal(released, 0);
    uint64_t id = 0;
    assert_true(mailbox_take_withdrawn(&f->mailbox, &id));
    assert_int_equal(id, taken->id);

    struct pi_host_answer answer = {.status = PI_OK, .saved = true};
    mailbox_answer(&f->mailbox, id, &answer);
    mailbox_answer(&f->mailbox, id, &answer); // a second answer is nobody's
    assert_int_equal(released, 1);
    struct command *c;
    struct run_note *notes;
    mailbox_take(&f->mailbox, &c, &notes);
    assert_non_null(c);
    assert_int_equal(c->type, COMMAND_LATE_ANSWER);
    assert_null(c->next);
    command_destroy(c);
    host_call_unref(taken);
}

static void an_answer_settles_and_close_fails_what_waits(void **state)
{
    struct fixture *f = *state;
    struct host_call *a = new_call();
    struct host_call *b = new_call();
    assert_int_equal(mailbox_host_post(&f->mailbox, a), PI_OK);
    assert_int_equal(mailbox_host_post(&f->mailbox, b), PI_OK);
    struct host_call *seen = mailbox_take_call(&f->mailbox);
    struct pi_host_answer answer = {.status = PI_OK, .version = 7};
    mailbox_answer(&f->mailbox, seen->id, &answer);
    assert_true(settled(a));
    assert_int_equal(a->status, PI_OK);
    assert_int_equal(a->answer_version, 7);
    host_call_unref(seen);
    assert_false(settled(b));
    mailbox_close(&f->mailbox);
    assert_true(settled(b));
    assert_int_equal(b->status, PI_ABORTED);
    assert_int_equal(mailbox_host_post(&f->mailbox, a), PI_CLOSED);
    assert_int_equal(mailbox_command(&f->mailbox, command_create(COMMAND_STOP), NULL),
                     PI_CLOSED);
    host_call_unref(a);
    host_call_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wakes_once_until_all_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(wakes_nobody_once_it_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(deltas_merge_only_with_their_neighbour, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_lost_event_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(one_run_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(abort_reaches_a_run_that_has_not_begun, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_queued_call_can_be_left_a_taken_one_is_kept,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_settles_and_close_fails_what_waits,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
