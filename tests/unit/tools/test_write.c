#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool_fixture.h"
#include "tools.h"

#define SV(literal) sv_make(literal, sizeof(literal) - 1)

static bool write_file(struct tool_fixture *f, const char *args)
{
    return fixture_call(f, &tool_write, args);
}

static void expect_written(struct tool_fixture *f, const char *args, const char *text)
{
    if (!write_file(f, args)) {
        fail_msg("%s", buf_cstr(&f->text));
    }
    assert_string_equal(buf_cstr(&f->text), text);
}

static void expect_error(struct tool_fixture *f, const char *args, const char *part)
{
    assert_false(write_file(f, args));
    assert_contains(f, part);
    assert_int_equal(f->result.changes_len, 0);
}

static void test_new_file(void **state)
{
    struct tool_fixture *f = *state;
    expect_written(f, "{\"path\":\"a/b/n.txt\",\"content\":\"caf\u00E9\\r\\nend\"}",
                   "Successfully wrote 10 bytes to a/b/n.txt");
    fixture_expect(f, "a/b/n.txt", SV("caf\u00E9\r\nend"));
    assert_int_equal(f->result.changes_len, 1);
    struct tool_file_change *change = &f->result.changes[0];
    char *path = fixture_path(f, "a/b/n.txt");
    assert_string_equal(change->path, path);
    assert_true(change->saved);
    assert_false(change->in_editor);
    assert_int_equal(change->lines, 0);
    assert_true(json_get_bool(f->result.details, "created", false));
    assert_null(json_get_str(f->result.details, "patch"));
    free(path);
    expect_written(f, "{\"path\":\"empty\",\"content\":\"\"}",
                   "Successfully wrote 0 bytes to empty");
    fixture_expect(f, "empty", SV(""));
}

static void test_replaces(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("one\ntwo\nthree\nfour\n"));
    expect_written(f, "{\"path\":\"a\",\"content\":\"one\\n2\\n2b\\nfour\\n\"}",
                   "Successfully wrote 14 bytes to a");
    fixture_expect(f, "a", SV("one\n2\n2b\nfour\n"));
    assert_int_equal(f->result.changes[0].first_line, 2);
    assert_int_equal(f->result.changes[0].lines, 2);
    const char *patch = json_get_str(f->result.details, "patch");
    assert_non_null(strstr(patch, "+++ b/a\n@@ -1,4 +1,4 @@\n one\n-two\n-three\n+2\n"));
    assert_non_null(json_get_str(f->result.details, "diff"));
}

static void expect_lines(struct tool_fixture *f, const char *args, size_t first,
                         size_t lines)
{
    assert_true(write_file(f, args));
    assert_int_equal(f->result.changes[0].first_line, first);
    assert_int_equal(f->result.changes[0].lines, lines);
}

static void test_changed_lines(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("x\nx\n"));
    expect_lines(f, "{\"path\":\"a\",\"content\":\"x\\nx\\nx\\n\"}", 3, 1);
    expect_lines(f, "{\"path\":\"a\",\"content\":\"x\\n\"}", 2, 1);
    expect_lines(f, "{\"path\":\"a\",\"content\":\"x\\nend\"}", 2, 1);
    expect_lines(f, "{\"path\":\"a\",\"content\":\"new\\nx\\nend\"}", 1, 1);
    expect_lines(f, "{\"path\":\"a\",\"content\":\"new\\nx\\nbend\"}", 3, 1);
    expect_lines(f, "{\"path\":\"a\",\"content\":\"\"}", 1, 1);
}

static void test_same_content(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("one\n"));
    expect_written(
        f, "{\"path\":\"a\",\"content\":\"one\\n\"}",
        "Successfully wrote 4 bytes to a (it had exactly this content before)");
    assert_int_equal(f->result.changes_len, 0);
}

static void test_keeps_bom(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("\xEF\xBB\xBFone\r\n"));
    expect_written(f, "{\"path\":\"a\",\"content\":\"two\\n\"}",
                   "Successfully wrote 7 bytes to a\n"
                   "[The byte order mark at the start of the file was kept.]\n"
                   "[The file had CRLF line ends before; now it has LF, as sent.]");
    fixture_expect(f, "a", SV("\xEF\xBB\xBFtwo\n"));
    expect_written(f, "{\"path\":\"a\",\"content\":\"\uFEFFsent\\n\"}",
                   "Successfully wrote 8 bytes to a");
    fixture_expect(f, "a", SV("\xEF\xBB\xBFsent\n"));
}

static void test_line_ends(void **state)
{
    struct tool_fixture *f = *state;
    // Mixed before, or CRLF sent: nothing was lost.
    fixture_put(f, "mixed", SV("one\r\ntwo\n"));
    expect_written(f, "{\"path\":\"mixed\",\"content\":\"two\\n\"}",
                   "Successfully wrote 4 bytes to mixed");
    fixture_put(f, "crlf", SV("one\r\ntwo"));
    expect_written(f, "{\"path\":\"crlf\",\"content\":\"two\\r\\n\"}",
                   "Successfully wrote 5 bytes to crlf");
    assert_true(write_file(f, "{\"path\":\"crlf\",\"content\":\"two\\n\"}"));
    assert_contains(f, "now it has LF");
}

static void test_keeps_utf16(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "u",
                SV("\xff\xfe"
                   "a\0\n\0"));
    expect_written(f, "{\"path\":\"u\",\"content\":\"\u00E9\\n\"}",
                   "Successfully wrote 6 bytes to u\n"
                   "[The byte order mark at the start of the file was kept.]");
    fixture_expect(f, "u", SV("\xff\xfe\xe9\0\n\0"));
}

static void test_eight_bit(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "l", SV("caf\xE9\n"));
    assert_true(write_file(f, "{\"path\":\"l\",\"content\":\"caf\u00E9s\\n\"}"));
    assert_contains(f, "was not UTF-8 before");
    fixture_expect(f, "l", SV("caf\u00E9s\n"));
}

static void test_directories(void **state)
{
    struct tool_fixture *f = *state;
    char *dir = fixture_path(f, "d");
    assert_int_equal(mkdir(dir, 0700), 0);
    expect_error(f, "{\"path\":\"d\",\"content\":\"x\"}", "d is a directory");
    expect_error(f, "{\"path\":\"d/\",\"content\":\"x\"}", "names a directory");
    expect_error(f, "{\"path\":\"newdir/\",\"content\":\"x\"}", "names a directory");
    expect_error(f, "{\"path\":\"newdir/..\",\"content\":\"x\"}", "names a directory");
    expect_error(f, "{\"path\":\"\",\"content\":\"x\"}", "names a directory");
    free(dir);
    fixture_put(f, "file", SV("x"));
    expect_error(f, "{\"path\":\"file/below\",\"content\":\"x\"}", "file");
    fixture_expect(f, "file", SV("x"));
}

static void test_special_file(void **state)
{
    struct tool_fixture *f = *state;
    char *fifo = fixture_path(f, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    free(fifo);
    expect_error(f, "{\"path\":\"fifo\",\"content\":\"x\"}", "FIFO");
}

static void test_restricted(void **state)
{
    struct tool_fixture *f = *state;
    char *work = fixture_path(f, "work");
    f->context.restrict_dir = work;
    expect_error(f, "{\"path\":\"new.txt\",\"content\":\"x\"}", "outside");
    assert_true(write_file(f, "{\"path\":\"work/new.txt\",\"content\":\"x\"}"));
    free(work);
}

static void test_changed_since_read(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("v1\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a\"}"));
    fixture_put(f, "a", SV("v1\nuser line\n"));
    expect_error(f, "{\"path\":\"a\",\"content\":\"v2\\n\"}", "changed by somebody else");
    fixture_expect(f, "a", SV("v1\nuser line\n"));
    // Asked for once more, it is meant.
    assert_true(write_file(f, "{\"path\":\"a\",\"content\":\"v2\\n\"}"));
    // The agent's own writes need no reading.
    assert_true(write_file(f, "{\"path\":\"a\",\"content\":\"v3\\n\"}"));
    fixture_expect(f, "a", SV("v3\n"));
}

static void test_changed_by_command(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a", SV("v1\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a\"}"));
    fixture_put(f, "a", SV("v1\nformatted\n"));
    file_memory_after_command(f->memory);
    expect_written(f, "{\"path\":\"a\",\"content\":\"v2\\n\"}",
                   "Successfully wrote 3 bytes to a\n"
                   "[A command had changed the file since you last read it.]");
}

/* An editor that has one file open. */

static struct {
    struct buf text; // the buffer
    int stale;       // how many snapshots go stale before one can be applied
    bool format;     // whether the editor alters what it gets
    size_t changes;  // how many the last apply was asked for
} editor;

static enum pi_status editor_snapshot(struct host *h, const struct host_target *target,
                                      struct host_snapshot *out, struct cancel *cancel,
                                      struct pi_error *err)
{
    (void)h, (void)target, (void)cancel, (void)err;
    *out = (struct host_snapshot){.origin = {.buffer = true, .unsaved = true}};
    buf_addsv(&out->text, buf_sv(&editor.text));
    return PI_OK;
}

static enum pi_status editor_apply(struct host *h, const struct host_target *target,
                                   const struct host_snapshot *snapshot,
                                   const struct host_change *changes, size_t len,
                                   struct host_hold *hold, struct host_applied *applied,
                                   struct cancel *cancel, struct pi_error *err)
{
    (void)h, (void)target, (void)hold, (void)cancel;
    if (editor.stale-- > 0) {
        return error_set(err, PI_STALE, "moved on");
    }
    *applied = (struct host_applied){.in_editor = true};
    if (editor.format) {
        buf_adds(&applied->memory, "formatted\n");
        applied->changes = calloc(1, sizeof(*applied->changes));
        applied->changes_len = 1;
        applied->changes[0] = (struct host_change){.length = snapshot->text.len,
                                                   .text = buf_sv(&applied->memory)};
        changes = applied->changes;
        len = 1;
    }
    buf_clear(&editor.text);
    editor.changes = len;
    return host_changed_text(&editor.text, buf_sv(&snapshot->text), changes, len);
}

static const struct host_ops editor_ops = {.snapshot = editor_snapshot,
                                           .apply = editor_apply};
static struct host editor_host = {.ops = &editor_ops};

static void open_editor(struct tool_fixture *f, const char *text)
{
    f->context.host = &editor_host;
    buf_clear(&editor.text);
    buf_adds(&editor.text, text);
    editor.stale = 0;
    editor.format = false;
}

static void test_buffer(void **state)
{
    struct tool_fixture *f = *state;
    open_editor(f, "one\ntwo\nthree\nfour\nfive\n");
    expect_written(
        f, "{\"path\":\"a\",\"content\":\"zero\\none\\n2\\nthree\\nfour\\nfive\"}",
        "Successfully wrote 26 bytes to a (in the editor's buffer, not saved "
        "yet)");
    assert_string_equal(buf_cstr(&editor.text), "zero\none\n2\nthree\nfour\nfive");
    // Only what differs was sent.
    assert_int_equal(editor.changes, 3);
    assert_true(f->result.changes[0].in_editor);
    assert_false(f->result.changes[0].saved);
    buf_finish(&editor.text);
}

static void test_buffer_moves_on(void **state)
{
    struct tool_fixture *f = *state;
    open_editor(f, "one\n");
    editor.stale = 2;
    assert_true(write_file(f, "{\"path\":\"a\",\"content\":\"two\\n\"}"));
    editor.stale = 3;
    expect_error(f, "{\"path\":\"a\",\"content\":\"three\\n\"}",
                 "Somebody else is changing a right now");
    assert_string_equal(buf_cstr(&editor.text), "two\n");
    buf_finish(&editor.text);
}

static void test_buffer_is_formatted(void **state)
{
    struct tool_fixture *f = *state;
    open_editor(f, "one\n");
    editor.format = true;
    assert_true(write_file(f, "{\"path\":\"a\",\"content\":\"two\\n\"}"));
    assert_contains(f, "The editor altered the text");
    assert_string_equal(buf_cstr(&editor.text), "formatted\n");
    // What came of its own write is no change by somebody else.
    editor.format = false;
    assert_true(write_file(f, "{\"path\":\"a\",\"content\":\"three\\n\"}"));
    buf_clear(&editor.text);
    buf_adds(&editor.text, "typed by the user\n");
    expect_error(f, "{\"path\":\"a\",\"content\":\"four\\n\"}",
                 "changed by somebody else");
    buf_finish(&editor.text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_new_file),           TEST(test_replaces),
        TEST(test_changed_lines),      TEST(test_same_content),
        TEST(test_keeps_bom),          TEST(test_line_ends),
        TEST(test_keeps_utf16),        TEST(test_eight_bit),
        TEST(test_directories),        TEST(test_special_file),
        TEST(test_restricted),         TEST(test_changed_since_read),
        TEST(test_changed_by_command), TEST(test_buffer),
        TEST(test_buffer_moves_on),    TEST(test_buffer_is_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
