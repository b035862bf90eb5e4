#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/validate.h"
#include "tool_fixture.h"
#include "tools.h"

static bool edit(struct tool_fixture *f, const char *args)
{
    return fixture_call(f, &tool_edit, args);
}

static void put(struct tool_fixture *f, const char *name, const char *text)
{
    fixture_put(f, name, sv_of(text));
}

static void expect(struct tool_fixture *f, const char *name, const char *text)
{
    fixture_expect(f, name, sv_of(text));
}

static void test_edits_a_file(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "a.txt", "one\r\ntwo\nthree");
    assert_true(edit(f, "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"two\",\"newText\":"
                        "\"2\"},{\"oldText\":\"one\",\"newText\":\"1\"}]}"));
    expect(f, "a.txt", "1\r\n2\nthree");
    assert_string_equal(buf_cstr(&f->text), "Successfully replaced 2 block(s) in a.txt.");
    assert_int_equal(f->result.changes_len, 1);
    const struct tool_file_change *c = f->result.changes;
    assert_string_equal(path_base(c->path), "a.txt");
    assert_int_equal(c->first_line, 1);
    assert_int_equal(c->lines, 2);
    assert_true(c->saved);
    assert_false(c->in_editor);
}

static void test_details(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n");
    assert_true(edit(f, "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"7\",\"newText\":"
                        "\"7\\nseven\"}]}"));
    const struct json *d = f->result.details;
    assert_int_equal((int)json_get_num(d, "firstChangedLine", 0), 8);
    assert_string_equal(json_get_str(d, "diff"), "    ...\n"
                                                 "  4 4\n  5 5\n  6 6\n  7 7\n+ 8 seven\n"
                                                 "  8 8\n  9 9\n 10 10\n 11 11\n    ...");
    assert_string_equal(json_get_str(d, "patch"), "--- a/a.txt\n+++ b/a.txt\n"
                                                  "@@ -4,8 +4,9 @@\n"
                                                  " 4\n 5\n 6\n 7\n+seven\n 8\n 9\n 10\n"
                                                  " 11\n");
    assert_int_equal(f->result.changes[0].first_line, 8);
    assert_int_equal(f->result.changes[0].lines, 1);
}

// patch(1) makes of the old file what edit made of it.
static void check_patch(struct tool_fixture *f, const char *before, const char *args)
{
    put(f, "p.txt", before);
    assert_true(edit(f, args));
    const char *patch = json_get_str(f->result.details, "patch");
    assert_non_null(patch);
    put(f, "p.diff", patch);
    put(f, "wanted", "");
    char command[1200];
    snprintf(command, sizeof(command), "cd '%s' && cp p.txt wanted", f->dir);
    assert_int_equal(system(command), 0);
    put(f, "p.txt", before);
    snprintf(command, sizeof(command),
             "cd '%s' && patch --binary -s -p1 <p.diff && cmp p.txt wanted", f->dir);
    assert_int_equal(system(command), 0);
}

static void test_patch_applies(void **state)
{
    struct tool_fixture *f = *state;
    if (system("command -v patch >/dev/null") != 0) {
        skip();
    }
    check_patch(f, "a\nb\nc",
                "{\"path\":\"p.txt\",\"edits\":[{\"oldText\":\"c\","
                "\"newText\":\"C\\nd\"}]}");
    check_patch(f, "a\r\nb\nc\r\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\nz",
                "{\"path\":\"p.txt\",\"edits\":[{\"oldText\":\"13\\n\",\"newText\":\"\"},"
                "{\"oldText\":\"a\\nb\",\"newText\":\"A\\nnew\\nb\"},"
                "{\"oldText\":\"8\",\"newText\":\"eight\"}]}");
    check_patch(f, "x",
                "{\"path\":\"p.txt\",\"edits\":[{\"oldText\":\"x\",\"newText\":"
                "\"\"}]}");
}

static void test_patch_names_the_file_below_a_linked_folder(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "a.txt", "1\n");
    char *link = fixture_path(f, "link");
    assert_int_equal(symlink(".", link), 0);
    f->context.cwd = link;
    assert_true(edit(f, "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"1\",\"newText\":"
                        "\"2\"}]}"));
    assert_true(sv_starts(sv_of(json_get_str(f->result.details, "patch")),
                          sv_of("--- a/a.txt\n+++ b/a.txt\n")));
    free(link);
}

static void test_no_patch_of_other_encodings(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "l.txt", sv_make("v 1 \xE9\n", 6));
    assert_true(edit(f, "{\"path\":\"l.txt\",\"edits\":[{\"oldText\":\"v 1\",\"newText\":"
                        "\"v 2\"}]}"));
    fixture_expect(f, "l.txt", sv_make("v 2 \xE9\n", 6));
    assert_null(json_get(f->result.details, "patch"));
    assert_non_null(json_get(f->result.details, "diff"));

    fixture_put(f, "u.txt",
                sv_make("\xFF\xFE"
                        "a\0\n\0b\0",
                        8));
    assert_true(edit(f, "{\"path\":\"u.txt\",\"edits\":[{\"oldText\":\"b\",\"newText\":"
                        "\"\\u20ac\"}]}"));
    fixture_expect(f, "u.txt",
                   sv_make("\xFF\xFE"
                           "a\0\n\0\xAC\x20",
                           8));
    assert_null(json_get(f->result.details, "patch"));
}

static void test_text_that_the_encoding_cannot_hold(void **state)
{
    struct tool_fixture *f = *state;
    struct sv latin1 = sv_of("na\xEFve caf\xE9 d\xE9j\xE0 vu\n");
    fixture_put(f, "l.txt", latin1);
    assert_false(edit(f,
                      "{\"path\":\"l.txt\",\"edits\":[{\"oldText\":\" vu\",\"newText\":"
                      "\" \\u00e9\"}]}"));
    fixture_expect(f, "l.txt", latin1);
    assert_contains(f, "encoding");
}

static void test_all_or_nothing(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "a.txt", "a\nb\n");
    assert_false(edit(f, "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"a\",\"newText\":"
                         "\"x\"},{\"oldText\":\"zzz\",\"newText\":\"y\"}]}"));
    expect(f, "a.txt", "a\nb\n");
    assert_contains(f, "edits[1].oldText");
    assert_contains(f, "Nothing was changed");
    assert_int_equal(f->result.changes_len, 0);
    assert_null(f->result.details);
}

static void test_approximate_match_is_told(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "a.md", "x\nsay “hi” now\n");
    assert_true(edit(f,
                     "{\"path\":\"a.md\",\"edits\":[{\"oldText\":\"say \\\"hi\\\" now\","
                     "\"newText\":\"say \\\"hi\\\" later\"}]}"));
    expect(f, "a.md", "x\nsay “hi” later\n");
    assert_contains(f, "approximately: line 2 has U+201C where oldText has \"");
}

static void test_wrong_files(void **state)
{
    struct tool_fixture *f = *state;
    const char *rest = "\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}";
    char args[200];
    snprintf(args, sizeof(args), "{\"path\":\"missing.txt\",%s", rest);
    assert_false(edit(f, args));
    assert_contains(f, "missing.txt does not exist");
    snprintf(args, sizeof(args), "{\"path\":\".\",%s", rest);
    assert_false(edit(f, args));
    assert_contains(f, "directory");
    put(f, "empty", "");
    snprintf(args, sizeof(args), "{\"path\":\"empty\",%s", rest);
    assert_false(edit(f, args));
    assert_contains(f, "empty; use write");
    assert_false(edit(f, "{\"path\":\"empty\",\"edits\":[]}"));
    assert_contains(f, "edits: empty");
}

static void test_link_stays(void **state)
{
    struct tool_fixture *f = *state;
    put(f, "real.txt", "v=1\n");
    char *link = fixture_path(f, "link.txt");
    assert_int_equal(symlink("real.txt", link), 0);
    assert_true(edit(f,
                     "{\"path\":\"link.txt\",\"edits\":[{\"oldText\":\"1\",\"newText\":"
                     "\"2\"}]}"));
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect(f, "real.txt", "v=2\n");
    free(link);
}

static void test_arguments_are_repaired(void **state)
{
    struct tool_fixture *f = *state;
    static const char *const forms[] = {
        "{\"path\":\"a\",\"edits\":\"[{\\\"oldText\\\":\\\"x\\\",\\\"newText\\\":"
        "\\\"y\\\"}]"
        "\"}",
        "{\"path\":\"a\",\"edits\":\"{\\\"oldText\\\":\\\"x\\\",\\\"newText\\\":"
        "\\\"y\\\"}\"}",
        "{\"path\":\"a\",\"edits\":{\"oldText\":\"x\",\"newText\":\"y\"}}",
        "{\"path\":\"a\",\"oldText\":\"x\",\"newText\":\"y\"}",
        "{\"path\":\"a\",\"edits\":[],\"oldText\":\"x\",\"newText\":\"y\"}",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        put(f, "a", "-x-");
        assert_true(edit(f, forms[i]));
        expect(f, "a", "-y-");
    }
    put(f, "a", "-x-z");
    assert_true(edit(f,
                     "{\"path\":\"a\",\"edits\":[{\"oldText\":\"z\",\"newText\":\"Z\"}],"
                     "\"oldText\":\"x\",\"newText\":\"y\"}"));
    expect(f, "a", "-y-Z");
}

static bool valid(const char *text)
{
    struct json *args = NULL;
    struct json *schema = NULL;
    struct buf problems = {0};
    assert_int_equal(json_parse(&args, sv_of(text), NULL, NULL), PI_OK);
    assert_int_equal(json_parse(&schema, sv_of(tool_edit.parameters), NULL, NULL), PI_OK);
    assert_int_equal(tool_edit.prepare(&args, NULL), PI_OK);
    bool ok = validate_arguments(&args, schema, "edit", &problems) == PI_OK;
    buf_finish(&problems);
    json_destroy(args);
    json_destroy(schema);
    return ok;
}

static void test_schema(void **state)
{
    (void)state;
    assert_true(
        valid("{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\",\"newText\":\"\"}]}"));
    assert_true(valid("{\"path\":\"a\",\"oldText\":\"x\",\"newText\":\"\"}"));
    assert_false(valid("{\"path\":\"a\",\"edits\":[]}"));
    assert_false(valid("{\"path\":\"a\",\"edits\":\"no JSON\"}"));
    assert_false(valid("{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\"}]}"));
    assert_false(valid("{\"path\":\"a\",\"oldText\":\"x\"}"));
    assert_false(valid("{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\"}"));
    assert_false(valid("{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\",\"newText\":\"\"}],"
                       "\"more\":1}"));
}

// ---- a host that is an editor

struct editor {
    struct host host; // first
    const char *text;
    const char *next; // what the text is after the first apply went stale
    int stale;        // so many applies are
    int snapshots;
    bool saved, formats;
    enum pi_status fails;
    char seen[100]; // the text of the last change
};

static enum pi_status editor_snapshot(struct host *h, const struct host_target *target,
                                      struct host_snapshot *out, struct cancel *cancel,
                                      struct pi_error *err)
{
    (void)target;
    (void)cancel;
    (void)err;
    struct editor *e = (struct editor *)h;
    *out = (struct host_snapshot){.origin = {.buffer = true, .unsaved = true}};
    buf_adds(&out->text, e->snapshots++ > 0 && e->next ? e->next : e->text);
    return PI_OK;
}

static enum pi_status editor_apply(struct host *h, const struct host_target *target,
                                   const struct host_snapshot *snapshot,
                                   const struct host_change *changes, size_t len,
                                   struct host_hold *hold, struct host_applied *applied,
                                   struct cancel *cancel, struct pi_error *err)
{
    (void)target;
    (void)hold;
    (void)cancel;
    (void)snapshot;
    struct editor *e = (struct editor *)h;
    assert_true(len > 0);
    snprintf(e->seen, sizeof(e->seen), "%zu %zu %.*s", changes[0].offset,
             changes[0].length, (int)changes[0].text.n, changes[0].text.p);
    if (e->stale > 0) {
        e->stale--;
        return error_set(err, PI_STALE, "moved on");
    }
    if (e->fails != PI_OK) {
        return error_set(err, e->fails, "the user must decide");
    }
    *applied = (struct host_applied){.saved = e->saved, .in_editor = true};
    if (e->formats) {
        buf_adds(&applied->memory, "two\n");
        applied->changes = calloc(1, sizeof(*applied->changes));
        assert_non_null(applied->changes);
        applied->changes[0] =
            (struct host_change){changes[0].offset, 1, buf_sv(&applied->memory)};
        applied->changes_len = 1;
    }
    return PI_OK;
}

static const struct host_ops editor_ops = {
    .snapshot = editor_snapshot,
    .apply = editor_apply,
};

static const char *const b_to_c =
    "{\"path\":\"e.txt\",\"edits\":[{\"oldText\":\"b\",\"newText\":\"c\"}]}";

static void test_editor_not_saved(void **state)
{
    struct tool_fixture *f = *state;
    struct editor e = {.host = {&editor_ops}, .text = "a\nb\n"};
    f->context.host = &e.host;
    assert_true(edit(f, b_to_c));
    assert_contains(f, "replaced 1 block(s) in e.txt. (unsaved changes in the editor "
                       "buffer; not saved)");
    assert_string_equal(e.seen, "2 1 c");
    assert_true(f->result.changes[0].in_editor);
    assert_false(f->result.changes[0].saved);
    e.saved = true;
    assert_true(edit(f, b_to_c));
    assert_null(strstr(buf_cstr(&f->text), "unsaved"));
}

static void test_stale_is_planned_again(void **state)
{
    struct tool_fixture *f = *state;
    struct editor e = {
        .host = {&editor_ops}, .text = "a\nb\n", .next = "new\na\nb\n", .stale = 3};
    f->context.host = &e.host;
    assert_true(edit(f, b_to_c));
    assert_int_equal(e.snapshots, 4);
    assert_string_equal(e.seen, "6 1 c");
    assert_int_equal(f->result.changes[0].first_line, 3);
    e.stale = 4;
    e.snapshots = 0;
    assert_false(edit(f, b_to_c));
    assert_int_equal(e.snapshots, 4);
    assert_contains(f, "Somebody is editing e.txt");
}

static void test_stale_and_gone(void **state)
{
    struct tool_fixture *f = *state;
    struct editor e = {
        .host = {&editor_ops}, .text = "a\nb\n", .next = "a\n", .stale = 1};
    f->context.host = &e.host;
    assert_false(edit(f, b_to_c));
    assert_contains(f, "Could not find oldText");
}

static void test_conflict_is_told(void **state)
{
    struct tool_fixture *f = *state;
    struct editor e = {.host = {&editor_ops}, .text = "b", .fails = PI_CONFLICT};
    f->context.host = &e.host;
    assert_false(edit(f, b_to_c));
    assert_string_equal(buf_cstr(&f->text), "the user must decide");
    assert_int_equal(e.snapshots, 1);
}

static void test_editor_formats(void **state)
{
    struct tool_fixture *f = *state;
    struct editor e = {.host = {&editor_ops}, .text = "b\n", .formats = true};
    f->context.host = &e.host;
    assert_true(edit(f, b_to_c));
    assert_contains(f, "altered");
    assert_contains(f, "not saved");
    assert_string_equal(json_get_str(f->result.details, "patch"),
                        "--- a/e.txt\n+++ b/e.txt\n@@ -1,1 +1,2 @@\n-b\n+two\n+\n");
}

// An edit makes its own lines known, not those that somebody else changed meanwhile.
static void test_unseen_changes_stay_unseen(void **state)
{
    struct tool_fixture *f = *state;
    fixture_put(f, "a.txt", sv_of("one\ntwo\n"));
    assert_true(fixture_call(f, &tool_read, "{\"path\":\"a.txt\"}"));
    fixture_put(f, "a.txt", sv_of("users\ntwo\n"));
    assert_true(fixture_call(f, &tool_edit,
                             "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"two\","
                             "\"newText\":\"2\"}]}"));
    assert_contains(f, "changed since you last saw it");
    const char *write = "{\"path\":\"a.txt\",\"content\":\"one\\n2\\n\"}";
    assert_false(fixture_call(f, &tool_write, write));
    fixture_expect(f, "a.txt", sv_of("users\n2\n"));
    assert_true(fixture_call(f, &tool_write, write)); // refused once
}

static void test_huge_lines_are_not_shown(void **state)
{
    struct tool_fixture *f = *state;
    size_t n = 2 << 20;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n / 2] = 'b';
    text[n] = '\0';
    put(f, "e.txt", text);
    assert_true(edit(f, b_to_c));
    assert_null(json_get(f->result.details, "diff"));
    assert_int_equal((int)json_get_num(f->result.details, "firstChangedLine", 0), 1);
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_edits_a_file),
        TEST(test_details),
        TEST(test_patch_applies),
        TEST(test_patch_names_the_file_below_a_linked_folder),
        TEST(test_no_patch_of_other_encodings),
        TEST(test_text_that_the_encoding_cannot_hold),
        TEST(test_all_or_nothing),
        TEST(test_approximate_match_is_told),
        TEST(test_wrong_files),
        TEST(test_link_stays),
        TEST(test_arguments_are_repaired),
        cmocka_unit_test(test_schema),
        TEST(test_unseen_changes_stay_unseen),
        TEST(test_editor_not_saved),
        TEST(test_stale_is_planned_again),
        TEST(test_stale_and_gone),
        TEST(test_conflict_is_told),
        TEST(test_editor_formats),
        TEST(test_huge_lines_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
