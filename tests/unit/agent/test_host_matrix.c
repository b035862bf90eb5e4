// The fake editor behind the real mailbox, on a slow face: every way to answer, and the
// end of everything while calls are pending.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "face.h"
#include "pi_tools.h"
#include "sys/file.h"

static char dir[] = "/tmp/pi-matrix-XXXXXX";

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir)) {
        return 1;
    }
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/f%d.txt", dir, i);
        FILE *f = fopen(path, "w");
        if (!f) {
            return 1;
        }
        fputs("alpha\nbeta\n", f);
        fclose(f);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/f%d.txt", dir, i);
        unlink(path);
    }
    return rmdir(dir);
}

static bool start(struct face *f, struct fake_host *h)
{
    size_t n = 0;
    struct pi_agent_options o = PI_AGENT_OPTIONS_INIT;
    o.cwd = dir;
    o.agent_dir = dir;
    o.no_context_files = true;
    o.permissions = PI_PERMISSIONS_YOLO;
    o.definitions = pi_tools_builtin(&n);
    o.definitions_len = n;
    f->host = h;
    buf_adds(&h->text, "alpha\nbeta\n");
    h->version = 1;
    struct pi_error err = {0};
    bool ok = face_start(f, &o, &err);
    if (!ok) {
        print_error("%s\n", err.message);
    }
    return ok;
}

static void call(struct face *f, const char *id, const char *tool, int file)
{
    char args[160];
    if (strcmp(tool, "edit") == 0) {
        snprintf(args, sizeof args,
                 "{\"path\":\"f%d.txt\",\"edits\":[{\"oldText\":\"beta\",\"newText\":\"b%"
                 "d\"}]}",
                 file, file);
    } else if (strcmp(tool, "write") == 0) {
        snprintf(args, sizeof args, "{\"path\":\"f%d.txt\",\"content\":\"new\\n\"}",
                 file);
    } else {
        snprintf(args, sizeof args, "{\"path\":\"f%d.txt\"}", file);
    }
    struct pi_tool_call c = {.id = id,
                             .name = tool,
                             .arguments = args,
                             .arguments_len = strlen(args),
                             .abort_after_ms = -1};
    assert_int_equal(pi_agent_call_tool(f->agent, &c, NULL), PI_OK);
}

// Waits for the end of a call and returns its text; NULL after 10 s. Borrowed from the
// face.
static const char *result_text(struct face *f, const char *id, bool *is_error)
{
    size_t at = 0;
    while ((at = face_wait(f, "tool_execution_end", at, 10000)) > 0) {
        const struct json *e = face_event(f, at - 1);
        if (strcmp(json_get_str(e, "toolCallId"), id) == 0) {
            *is_error = json_get_bool(e, "isError", false);
            return json_get_str(json_first(json_get(json_get(e, "result"), "content")),
                                "text");
        }
    }
    return NULL;
}

static void one_answer(enum fake_answer how, const char *tool, bool want_error,
                       const char *want)
{
    struct face f = {.slow_us = 200, .budget = {.bytes = 1}};
    struct fake_host h = {.answers = {how}, .answers_len = 1, .late_us = 3000};
    bool is_error = false;
    assert_true(start(&f, &h));
    call(&f, "1", tool, 0);
    const char *text = result_text(&f, "1", &is_error);
    assert_non_null(text);
    assert_int_equal(is_error, want_error);
    if (!strstr(text, want)) {
        print_error("%s\n", text);
        fail();
    }
    face_finish(&f);
}

static void every_answer_has_its_result(void **state)
{
    (void)state;
    one_answer(FAKE_OK, "read", false, "alpha");
    one_answer(FAKE_OK, "edit", false, "f0.txt");
    one_answer(FAKE_TWICE, "edit", false, "f0.txt");
    one_answer(FAKE_LATE, "edit", false, "f0.txt");
    one_answer(FAKE_IO, "edit", true, "fake editor");
    one_answer(FAKE_CONFLICT, "edit", true, "fake editor");
}

// An answer of "stale" to apply leads to a new snapshot, three times; then the model is
// told.
static void stale_is_retried_then_told(void **state)
{
    (void)state;
    struct face f = {0};
    struct fake_host h = {.answers = {FAKE_OK, FAKE_STALE, FAKE_OK, FAKE_OK},
                          .answers_len = 4};
    bool is_error = false;
    assert_true(start(&f, &h));
    call(&f, "1", "edit", 0);
    assert_non_null(result_text(&f, "1", &is_error));
    assert_false(is_error);
    assert_int_equal(atomic_load(&h.requests), 4); // snapshot, stale, snapshot, applied
    assert_int_equal(atomic_load(&h.applied), 1);
    face_finish(&f);

    struct face g = {0};
    struct fake_host never = {.answers = {FAKE_OK, FAKE_STALE}, .answers_len = 2};
    assert_true(start(&g, &never));
    call(&g, "1", "edit", 0);
    const char *text = result_text(&g, "1", &is_error);
    assert_non_null(text);
    assert_true(is_error);
    assert_int_equal(atomic_load(&never.applied), 0);
    face_finish(&g);
}

static void not_open_means_the_disk(void **state)
{
    (void)state;
    struct face f = {0};
    struct fake_host h = {.answers = {FAKE_NOT_OPEN}, .answers_len = 1};
    bool is_error = true;
    assert_true(start(&f, &h));
    call(&f, "1", "edit", 7);
    assert_non_null(result_text(&f, "1", &is_error));
    assert_false(is_error);
    char path[64];
    snprintf(path, sizeof path, "%s/f7.txt", dir);
    struct buf text = {0};
    assert_int_equal(file_load(&text, path, 1000, NULL), PI_OK);
    assert_string_equal(buf_cstr(&text), "alpha\nb7\n");
    buf_finish(&text);
    face_finish(&f);
}

static void nested_dispatch_is_refused(void **state)
{
    (void)state;
    struct face f = {.reenter = true};
    struct fake_host h = {0};
    bool is_error = true;
    assert_true(start(&f, &h));
    call(&f, "1", "read", 0);
    assert_non_null(result_text(&f, "1", &is_error));
    assert_false(is_error);
    assert_true(atomic_load(&f.busy_answers) > 0);
    face_finish(&f);
}

// The editor never answers an apply; after the abort the model hears that it is not
// confirmed, and a late answer is told as an event.
static void an_unanswered_change_is_not_confirmed(void **state)
{
    (void)state;
    struct face f = {0};
    struct fake_host h = {.answers = {FAKE_OK, FAKE_NEVER}, .answers_len = 2};
    bool is_error = false;
    assert_true(start(&f, &h));
    call(&f, "1", "edit", 0);
    while (atomic_load(&h.requests) < 2) {
        usleep(500);
    }
    usleep(2000);
    pi_agent_abort(f.agent);
    const char *text = result_text(&f, "1", &is_error);
    assert_non_null(text);
    assert_true(is_error);
    assert_non_null(strstr(text, "not confirmed"));
    face_finish(&f);
}

static void late_answer_becomes_an_event(void **state)
{
    (void)state;
    struct face f = {0};
    struct fake_host h = {
        .answers = {FAKE_OK, FAKE_LATE}, .answers_len = 2, .late_us = 600000};
    bool is_error = false;
    assert_true(start(&f, &h));
    call(&f, "1", "edit", 0);
    while (atomic_load(&h.requests) < 2) {
        usleep(500);
    }
    usleep(2000);
    pi_agent_abort(f.agent);
    size_t at = face_wait(&f, "file_changed", 0, 10000);
    assert_true(at > 0);
    assert_string_equal(json_get_str(face_event(&f, at - 1), "origin"), "late");
    assert_non_null(result_text(&f, "1", &is_error));
    face_finish(&f);
}

static unsigned seed = 1;

static unsigned roll(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

// Four calls, answers of every kind, and then abort, destroy from outside or from inside
// a callback, at any moment.
static void one_end(unsigned round)
{
    static const char *const tools[] = {"read", "edit", "write", "edit"};
    struct face f = {.slow_us = roll(3) ? 0 : roll(400), .reenter = roll(4) == 0};
    struct fake_host h = {.late_us = roll(1500)};
    f.budget.bytes = roll(2);
    h.answers_len = 1 + roll(8);
    for (size_t i = 0; i < h.answers_len; i++) {
        h.answers[i] = (enum fake_answer)roll(FAKE_NEVER + 1);
    }
    assert_true(start(&f, &h));
    char ids[4][8];
    for (int i = 0; i < 4; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        call(&f, ids[i], tools[i], roll(2) ? 1 : 1 + i);
    }
    usleep(roll(2500));
    if (round % 3 == 0) {
        pi_agent_abort(f.agent);
        bool is_error;
        for (int i = 0; i < 4; i++) {
            assert_non_null(result_text(&f, ids[i], &is_error));
        }
    }
    face_finish(&f);
}

static void every_end_is_clean(void **state)
{
    (void)state;
    const char *runs = getenv("PI_MATRIX_RUNS");
    long n = runs ? strtol(runs, NULL, 10) : 60;
    for (long i = 0; i < n; i++) {
        one_end((unsigned)i);
    }
}

static void destroy_inside_a_callback(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct face f = {.destroy_inside = true};
        struct fake_host h = {.answers = {FAKE_OK, FAKE_NEVER}, .answers_len = 2};
        assert_true(start(&f, &h));
        call(&f, "1", "read", 0);
        call(&f, "2", "edit", 1);
        atomic_store(&f.all_sent, true);
        for (int k = 0; k < 2000 && !atomic_load(&f.destroyed); k++) {
            usleep(1000);
        }
        assert_true(atomic_load(&f.destroyed));
        face_finish(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_its_result),
        cmocka_unit_test(stale_is_retried_then_told),
        cmocka_unit_test(not_open_means_the_disk),
        cmocka_unit_test(nested_dispatch_is_refused),
        cmocka_unit_test(an_unanswered_change_is_not_confirmed),
        cmocka_unit_test(late_answer_becomes_an_event),
        cmocka_unit_test(every_end_is_clean),
        cmocka_unit_test(destroy_inside_a_callback),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
