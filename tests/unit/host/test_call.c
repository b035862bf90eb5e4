#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/call.h"
#include "scratch.h"
#include "sys/clock.h"

/**
 * A face of its own thread that takes calls after take_ms, answers them after answer_ms
 * more, and keeps what it was asked. Negative: never.
 */
struct face {
    pthread_mutex_t lock;
    pthread_t thread;
    struct host_call *queued; // one at a time is enough here
    struct host_call *taken;
    bool closed;
    int take_ms, answer_ms;
    struct pi_host_answer answer;
    // What was asked last.
    enum pi_host_op op;
    char path[512];
    uint64_t version;
    char changes[256];
    int posted, settled;
    atomic_int released;
};

static char *dir;
static struct face face;
static struct host_face host;
static struct cancel *cancel;

static enum pi_status post(void *data, struct host_call *call)
{
    struct face *f = data;
    pthread_mutex_lock(&f->lock);
    enum pi_status status = f->closed ? PI_CLOSED : PI_OK;
    if (status == PI_OK) {
        f->queued = host_call_ref(call);
        f->posted++;
    }
    pthread_mutex_unlock(&f->lock);
    return status;
}

static bool recall(void *data, struct host_call *call)
{
    struct face *f = data;
    pthread_mutex_lock(&f->lock);
    bool queued = call->state == HOST_CALL_QUEUED;
    if (queued) {
        call->state = HOST_CALL_SETTLED;
        f->queued = NULL;
    }
    pthread_mutex_unlock(&f->lock);
    if (queued) {
        host_call_unref(call);
    }
    return queued;
}

static bool leave(void *data, struct host_call *call, struct host_hold *hold)
{
    struct face *f = data;
    pthread_mutex_lock(&f->lock);
    bool over = call->state != HOST_CALL_TAKEN;
    if (!over) {
        call->abandoned = true;
        if (hold) {
            call->hold = *hold;
            *hold = (struct host_hold){0};
        }
    }
    pthread_mutex_unlock(&f->lock);
    return over;
}

static void note(struct face *f, const struct host_call *c)
{
    f->op = c->op;
    snprintf(f->path, sizeof f->path, "%s", c->path);
    f->version = c->version;
    f->changes[0] = '\0';
    for (size_t i = 0; i < c->changes_len; i++) {
        size_t n = strlen(f->changes);
        snprintf(f->changes + n, sizeof f->changes - n, "%zu+%zu=%.*s;",
                 c->changes[i].offset, c->changes[i].length, (int)c->changes[i].text_len,
                 c->changes[i].text);
    }
}

static void settle(struct face *f, struct host_call *c)
{
    host_call_fill(c, &f->answer);
    pthread_mutex_lock(&f->lock);
    const uint64_t one = 1;
    c->state = HOST_CALL_SETTLED;
    f->taken = NULL;
    f->settled++;
    ssize_t n = write(c->done_fd, &one, sizeof one);
    (void)n;
    pthread_mutex_unlock(&f->lock);
    host_call_unref(c);
}

static void *run_face(void *data)
{
    struct face *f = data;
    struct host_call *c = NULL;
    for (int i = 0; i < 5000 && !c; i++) {
        usleep(f->take_ms > 0 ? (useconds_t)f->take_ms * 1000 : 1000);
        pthread_mutex_lock(&f->lock);
        c = f->queued;
        if (c) {
            f->queued = NULL;
            f->taken = c;
            c->state = HOST_CALL_TAKEN;
            note(f, c);
        }
        pthread_mutex_unlock(&f->lock);
    }
    if (c && f->answer_ms >= 0) {
        usleep((useconds_t)f->answer_ms * 1000);
        settle(f, c);
    }
    return NULL;
}

// Starts the face's thread for the next call.
static void expect(int take_ms, int answer_ms, struct pi_host_answer answer)
{
    face.take_ms = take_ms;
    face.answer_ms = answer_ms;
    face.answer = answer;
    if (take_ms >= 0) {
        assert_int_equal(pthread_create(&face.thread, NULL, run_face, &face), 0);
    }
}

static void face_end(void)
{
    if (face.take_ms >= 0) {
        pthread_join(face.thread, NULL);
    }
    face.take_ms = -1;
}

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    face = (struct face){.take_ms = -1};
    pthread_mutex_init(&face.lock, NULL);
    struct host_port port = {&face, post, leave, recall};
    host_face_init(&host, &port, 5000);
    return cancel_create(&cancel, NULL, NULL) == PI_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    face_end();
    assert_null(face.queued);
    assert_null(face.taken);
    cancel_unref(cancel);
    pthread_mutex_destroy(&face.lock);
    scratch_remove(dir);
    return 0;
}

static struct host_target target_of(const char *name)
{
    struct host_target t;
    assert_int_equal(host_resolve(&t, scratch_path(dir, name), name, NULL), PI_OK);
    return t;
}

static struct buf got;

static bool collect(void *data, struct sv bytes)
{
    (void)data;
    buf_addsv(&got, bytes);
    return true;
}

static enum pi_status read_text(const char *name, uint64_t offset,
                                struct host_origin *origin, struct pi_error *err)
{
    struct host_target t = target_of(name);
    struct file_stamp stamp = {.ino = 7};
    buf_clear(&got);
    enum pi_status status = host.host.ops->read(&host.host, &t, offset, collect, NULL,
                                                origin, &stamp, cancel, err);
    if (status == PI_OK) {
        assert_int_equal(stamp.ino != 0, !origin->buffer);
    }
    host_target_finish(&t);
    return status;
}

static enum pi_status take_snapshot(const char *name, struct host_snapshot *s,
                                    struct pi_error *err)
{
    struct host_target t = target_of(name);
    enum pi_status status = host.host.ops->snapshot(&host.host, &t, s, cancel, err);
    host_target_finish(&t);
    return status;
}

static enum pi_status apply(const char *name, const struct host_snapshot *s,
                            const struct host_change *changes, size_t len,
                            struct host_hold *hold, struct host_applied *a,
                            struct pi_error *err)
{
    struct host_target t = target_of(name);
    enum pi_status status =
        host.host.ops->apply(&host.host, &t, s, changes, len, hold, a, cancel, err);
    host_target_finish(&t);
    return status;
}

static struct pi_host_answer text_answer(const char *text)
{
    return (struct pi_host_answer){
        .text = text, .text_len = strlen(text), .version = 42, .unsaved = true};
}

static struct pi_host_answer refusal(enum pi_status status, const char *message)
{
    return (struct pi_host_answer){.status = status, .message = message};
}

static void test_read_of_a_buffer(void **state)
{
    (void)state;
    struct host_origin origin = {0};
    scratch_text(dir, "f", "on disk");
    expect(0, 5, text_answer("in the buffer"));
    assert_int_equal(read_text("f", 3, &origin, NULL), PI_OK);
    assert_string_equal(buf_cstr(&got), "the buffer");
    assert_true(origin.buffer && origin.unsaved);
    assert_int_equal(face.op, PI_HOST_READ);
    assert_string_equal(face.path, scratch_path(dir, "f"));
    face_end();
    expect(0, 0, text_answer("short"));
    assert_int_equal(read_text("f", 99, &origin, NULL), PI_OK);
    assert_int_equal(got.len, 0);
}

// An editor cannot save into a folder that is missing; one that will not save needs none.
static void test_folder_of_a_new_file(void **state)
{
    (void)state;
    const struct host_change change = {.text = sv_of("new\n")};
    for (int unsaved = 1; unsaved >= 0; unsaved--) {
        struct host_snapshot s = {.origin = {.buffer = true, .unsaved = unsaved}};
        struct host_applied a = {0};
        expect(0, 0, (struct pi_host_answer){.version = 2, .saved = !unsaved});
        assert_int_equal(apply("new/in/f", &s, &change, 1, NULL, &a, NULL), PI_OK);
        face_end();
        host_applied_finish(&a);
        assert_int_equal(access(scratch_path(dir, "new/in"), F_OK), unsaved ? -1 : 0);
    }
}

static void test_disk_when_not_open(void **state)
{
    (void)state;
    struct host_origin origin = {true, true};
    struct host_snapshot s = {0};
    scratch_text(dir, "f", "on disk");
    expect(0, 0, refusal(PI_HOST_NOT_OPEN, NULL));
    assert_int_equal(read_text("f", 3, &origin, NULL), PI_OK);
    assert_string_equal(buf_cstr(&got), "disk");
    assert_false(origin.buffer);
    face_end();
    expect(0, 0, refusal(PI_HOST_NOT_OPEN, NULL));
    assert_int_equal(take_snapshot("f", &s, NULL), PI_OK);
    assert_false(s.origin.buffer);
    assert_string_equal(buf_cstr(&s.text), "on disk");
    face_end();
    // A text from the disk is changed on the disk: nobody is asked.
    struct host_applied a = {0};
    struct host_change c = {0, 2, sv_of("ON")};
    int posted = face.posted;
    assert_int_equal(apply("f", &s, &c, 1, NULL, &a, NULL), PI_OK);
    assert_true(a.saved && !a.in_editor);
    assert_int_equal(face.posted, posted);
    assert_true(scratch_holds(dir, "f", "ON disk"));
    host_applied_finish(&a);
    host_snapshot_finish(&s);
}

static void test_folders_are_not_asked_for(void **state)
{
    (void)state;
    struct host_origin origin;
    assert_int_equal(read_text(".", 0, &origin, NULL), PI_INVALID);
    assert_int_equal(face.posted, 0);
}

static void test_refused(void **state)
{
    (void)state;
    struct host_snapshot s = {0};
    struct pi_error err = {0};
    scratch_text(dir, "f", "x");
    expect(0, 0, refusal(PI_CONFLICT, "buffer and disk both changed"));
    assert_int_equal(take_snapshot("f", &s, &err), PI_CONFLICT);
    assert_int_equal(err.code, PI_CONFLICT);
    assert_string_equal(err.message, "buffer and disk both changed");
    face_end();
    expect(0, 0, refusal(PI_DENIED, NULL));
    assert_int_equal(take_snapshot("f", &s, &err), PI_DENIED);
    assert_true(err.message[0] != '\0');
}

static void buffer_snapshot(struct host_snapshot *s)
{
    expect(0, 0, text_answer("one two three"));
    assert_int_equal(take_snapshot("f", s, NULL), PI_OK);
    assert_true(s->origin.buffer && s->origin.unsaved && s->version == 42);
    assert_string_equal(buf_cstr(&s->text), "one two three");
    face_end();
}

static void test_apply(void **state)
{
    (void)state;
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    buffer_snapshot(&s);
    struct host_change c[] = {{0, 3, sv_of("1")}, {4, 3, sv_of("")}};
    expect(0, 0, (struct pi_host_answer){.saved = true});
    assert_int_equal(apply("f", &s, c, 2, NULL, &a, NULL), PI_OK);
    assert_true(a.saved && a.in_editor && !a.unconfirmed && !a.changes);
    assert_int_equal(face.op, PI_HOST_APPLY);
    assert_int_equal(face.version, 42);
    assert_string_equal(face.changes, "0+3=1;4+3=;");
    host_applied_finish(&a);
    host_snapshot_finish(&s);
}

static void test_apply_altered(void **state)
{
    (void)state;
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    buffer_snapshot(&s);
    struct host_change c = {0, 3, sv_of("1")};
    expect(0, 0, (struct pi_host_answer){.text = "1 two three\n", .text_len = 12});
    assert_int_equal(apply("f", &s, &c, 1, NULL, &a, NULL), PI_OK);
    assert_int_equal(a.changes_len, 1);
    assert_int_equal(a.changes[0].offset, 0);
    assert_int_equal(a.changes[0].length, 13);
    assert_true(sv_eqs(a.changes[0].text, "1 two three\n"));
    assert_false(a.saved);
    host_applied_finish(&a);
    face_end();
    // Altered back to what it was: no change, and this is not the same as "as sent".
    expect(0, 0, (struct pi_host_answer){.text = "one two three", .text_len = 13});
    assert_int_equal(apply("f", &s, &c, 1, NULL, &a, NULL), PI_OK);
    assert_non_null(a.changes);
    assert_int_equal(a.changes_len, 0);
    host_applied_finish(&a);
    host_snapshot_finish(&s);
}

static void test_apply_refused(void **state)
{
    (void)state;
    static const enum pi_status given[] = {PI_STALE, PI_CONFLICT, PI_HOST_NOT_OPEN};
    static const enum pi_status expected[] = {PI_STALE, PI_CONFLICT, PI_STALE};
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    struct pi_error err = {0};
    buffer_snapshot(&s);
    struct host_change c = {0, 3, sv_of("1")}, beyond = {9, 9, sv_of("")};
    for (int i = 0; i < 3; i++) {
        expect(0, 0, refusal(given[i], "words"));
        assert_int_equal(apply("f", &s, &c, 1, NULL, &a, &err), expected[i]);
        assert_int_equal(err.code, expected[i]);
        assert_false(a.unconfirmed || a.in_editor || a.saved);
        face_end();
    }
    int posted = face.posted;
    assert_int_equal(apply("f", &s, &beyond, 1, NULL, &a, &err), PI_INVALID);
    assert_int_equal(face.posted, posted);
    host_snapshot_finish(&s);
}

static void test_deadline_in_the_queue(void **state)
{
    (void)state;
    struct host_origin origin;
    struct pi_error err = {0};
    host.deadline_ms = 30;
    expect(-1, -1, text_answer(""));
    assert_int_equal(read_text("f", 0, &origin, &err), PI_TIMEOUT);
    assert_non_null(strstr(err.message, "did not answer"));
}

static void test_no_deadline_once_taken(void **state)
{
    (void)state;
    struct host_origin origin;
    host.deadline_ms = 200;
    expect(0, 350, text_answer("late"));
    assert_int_equal(read_text("f", 0, &origin, NULL), PI_OK);
    assert_string_equal(buf_cstr(&got), "late");
}

static void *cancel_soon(void *data)
{
    (void)data;
    usleep(30000);
    cancel_set(cancel);
    return NULL;
}

static void test_cancelled_in_the_queue(void **state)
{
    (void)state;
    struct host_origin origin;
    pthread_t thread;
    expect(-1, -1, text_answer(""));
    pthread_create(&thread, NULL, cancel_soon, NULL);
    int64_t start = clock_mono_ms();
    assert_int_equal(read_text("f", 0, &origin, NULL), PI_ABORTED);
    assert_true(clock_mono_ms() - start < 2000);
    pthread_join(thread, NULL);
    // And before anything was sent.
    int posted = face.posted;
    assert_int_equal(read_text("f", 0, &origin, NULL), PI_ABORTED);
    assert_int_equal(face.posted, posted);
}

static void release(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

static void test_cancelled_while_taken(void **state)
{
    (void)state;
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    struct pi_error err = {0};
    struct host_hold hold = {release, &face.released};
    pthread_t thread;
    buffer_snapshot(&s);
    struct host_change c = {0, 3, sv_of("1")};
    expect(0, 400, (struct pi_host_answer){.saved = true});
    pthread_create(&thread, NULL, cancel_soon, NULL);
    assert_int_equal(apply("f", &s, &c, 1, &hold, &a, &err), PI_ABORTED);
    assert_true(a.unconfirmed);
    assert_non_null(strstr(err.message, "sent to the editor, not confirmed"));
    assert_null(hold.release);
    assert_int_equal(atomic_load(&face.released), 0);
    pthread_join(thread, NULL);
    face_end();
    // With the last reference goes the hold.
    assert_int_equal(atomic_load(&face.released), 1);
    host_applied_finish(&a);
    host_snapshot_finish(&s);
}

static void test_answer_just_after_cancel(void **state)
{
    (void)state;
    struct host_snapshot s = {0};
    struct host_applied a = {0};
    struct host_hold hold = {release, &face.released};
    pthread_t thread;
    buffer_snapshot(&s);
    struct host_change c = {0, 3, sv_of("1")};
    expect(0, 60, (struct pi_host_answer){.saved = true});
    pthread_create(&thread, NULL, cancel_soon, NULL);
    // What was done is told, although nobody wanted it any more.
    assert_int_equal(apply("f", &s, &c, 1, &hold, &a, NULL), PI_OK);
    assert_true(a.saved && !a.unconfirmed);
    assert_non_null(hold.release);
    pthread_join(thread, NULL);
    host_applied_finish(&a);
    host_snapshot_finish(&s);
}

static void test_closed(void **state)
{
    (void)state;
    struct host_origin origin;
    struct pi_error err = {0};
    face.closed = true;
    assert_int_equal(read_text("f", 0, &origin, &err), PI_CLOSED);
    assert_true(err.message[0] != '\0');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_read_of_a_buffer),
        TEST(test_disk_when_not_open),
        TEST(test_folders_are_not_asked_for),
        TEST(test_refused),
        TEST(test_apply),
        TEST(test_folder_of_a_new_file),
        TEST(test_apply_altered),
        TEST(test_apply_refused),
        TEST(test_deadline_in_the_queue),
        TEST(test_no_deadline_once_taken),
        TEST(test_cancelled_in_the_queue),
        TEST(test_cancelled_while_taken),
        TEST(test_answer_just_after_cancel),
        TEST(test_closed),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_finish(&got);
    return failed;
}
