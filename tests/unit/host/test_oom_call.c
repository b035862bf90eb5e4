// Every allocation of a call to the face fails once: a status says so, the hold stays
// where it belongs, and nothing is lost (the address sanitizer looks).

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "host/call.h"
#include "oom.h"

// wrap: malloc calloc realloc strdup

static const struct pi_host_answer *answer;
static bool answered;

// A face that answers on the spot.
static enum pi_status post(void *data, struct host_call *call)
{
    (void)data;
    const uint64_t one = 1;
    host_call_fill(call, answer);
    answered = true;
    call->state = HOST_CALL_SETTLED;
    return write(call->done_fd, &one, sizeof one) == sizeof one ? PI_OK : PI_CLOSED;
}

static bool recall(void *data, struct host_call *call)
{
    (void)data;
    (void)call;
    return false;
}

static bool leave(void *data, struct host_call *call, struct host_hold *hold)
{
    (void)data;
    (void)call;
    (void)hold;
    return true;
}

static const struct host_port port = {NULL, post, leave, recall};
static char path[] = "/none/f";
static const struct host_target target = {.path = path, .shown = path, .key = path};

static bool sink(void *data, struct sv bytes)
{
    buf_addsv(data, bytes);
    return true;
}

static void test_texts(void **state)
{
    (void)state;
    static const struct pi_host_answer text = {.text = "one two", .text_len = 7};
    answer = &text;
    struct host_face f;
    host_face_init(&f, &port, 1000);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct buf got = {0};
        struct host_snapshot s = {0};
        oom_start(n);
        enum pi_status a =
            f.host.ops->read(&f.host, &target, 0, sink, &got, NULL, NULL, NULL, NULL);
        enum pi_status b = f.host.ops->snapshot(&f.host, &target, &s, NULL, NULL);
        failed = oom_stop();
        assert_true(a == PI_OK || (failed && a == PI_NOMEM));
        assert_true(b == PI_OK || (failed && b == PI_NOMEM));
        assert_true(b != PI_OK || s.text.len == 7);
        host_snapshot_finish(&s);
        buf_finish(&got);
    }
}

static void test_changes(void **state)
{
    (void)state;
    static const struct pi_host_answer done = {
        .saved = true, .text = "1 two\n", .text_len = 6};
    struct host_face f;
    struct host_snapshot s = {.origin = {.buffer = true}};
    struct host_change c = {0, 3, sv_of("1")};
    answer = &done;
    buf_adds(&s.text, "one two");
    host_face_init(&f, &port, 1000);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct host_applied a = {0};
        struct pi_error err = {0};
        answered = false;
        oom_start(n);
        enum pi_status status =
            f.host.ops->apply(&f.host, &target, &s, &c, 1, NULL, &a, NULL, &err);
        failed = oom_stop();
        // What the face has done is told as done.
        assert_int_equal(status, answered ? PI_OK : PI_NOMEM);
        assert_true(status == PI_OK || (failed && err.message[0]));
        assert_int_equal(status == PI_OK, a.saved && a.in_editor);
        host_applied_finish(&a);
    }
    host_snapshot_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
