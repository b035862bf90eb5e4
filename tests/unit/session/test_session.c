#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/json.h"
#include "scratch.h"
#include "session/session.h"

static char *dir;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define HEADER                                                                           \
    "{\"type\":\"session\",\"version\":3,\"id\":\"0197-abc\",\"timestamp\":"             \
    "\"2026-01-31T12:00:00.000Z\",\"cwd\":\"/work\"}\n"

static void ok_(enum pi_status status, const struct pi_error *err, int line)
{
    if (status != PI_OK) {
        fail_msg("line %d: %s", line, err->message);
    }
}
#define OK(call)                                                                         \
    do {                                                                                 \
        struct pi_error err = {0};                                                       \
        ok_(call, &err, __LINE__);                                                       \
    } while (0)

static struct buf problems;

static struct session *reopen(const char *path)
{
    struct session *s = NULL;
    struct journal_owner owner;
    buf_finish(&problems);
    OK(session_open(&s, path, &problems, &owner, &err));
    assert_false(owner.other);
    return s;
}

// Opens a file of this text.
static struct session *open_text(const char *text)
{
    scratch_text(dir, "file.jsonl", text);
    return reopen(scratch_path(dir, "file.jsonl"));
}

static void add_user(struct session *s, const char *text)
{
    struct message *m = message_create(ROLE_USER);
    assert_true(content_add_text(&m->content, sv_of(text)));
    OK(session_add_message(s, m, &err));
    message_destroy(m);
}

// The texts of the messages: a letter for the role before each, " " between them.
static const char *texts(struct session *s)
{
    static struct buf out;
    struct session_messages all = {0};
    buf_clear(&out);
    OK(session_messages(s, &all, &problems, &err));
    for (size_t i = 0; i < all.len; i++) {
        buf_addf(&out, "%s%c:", i > 0 ? " " : "", "uar"[all.items[i]->role]);
        content_text(&all.items[i]->content, &out);
        message_destroy(all.items[i]);
    }
    free(all.items);
    return buf_cstr(&out);
}

static struct session *create(void)
{
    struct session *s = NULL;
    struct session_options options = {
        .cwd = "/work", .id = "0197-abc", .dir = scratch_path(dir, "sessions")};
    OK(session_create(&s, &options, &err));
    return s;
}

static void test_file_appears_with_the_first_entry(void **state)
{
    (void)state;
    struct session *s = create();
    assert_string_equal(texts(s), "");
    session_close(s);
    assert_int_equal(access(scratch_path(dir, "sessions"), F_OK), -1);
    s = create();
    assert_string_equal(session_id(s), "0197-abc");
    assert_string_equal(session_cwd(s), "/work");
    OK(session_add_model(s, "maker", "model-1", &err));
    OK(session_add_thinking(s, "high", &err));
    add_user(s, "hello");
    OK(session_sync(s, &err));
    char *path = strdup(session_path(s));
    session_close(s);
    s = reopen(path);
    assert_string_equal(session_id(s), "0197-abc");
    assert_string_equal(session_cwd(s), "/work");
    assert_string_equal(texts(s), "u:hello");
    assert_string_equal(session_provider(s), "maker");
    assert_string_equal(session_model(s), "model-1");
    assert_string_equal(session_thinking(s), "high");
    assert_int_equal(problems.len, 0);
    session_close(s);
    free(path);
}

// By the rules of the reference agent: fields, ids, a chain of parents.
static void test_form_of_the_file(void **state)
{
    (void)state;
    struct session *s = create();
    OK(session_add_model(s, "maker", "model \"1\"", &err));
    add_user(s, "hello");
    OK(session_add_name(s, "a name", &err));
    assert_string_equal(session_name(s), "a name");
    struct buf text = {0};
    FILE *f = fopen(session_path(s), "r");
    assert_true(buf_reserve(&text, 10000));
    text.len = fread(text.data, 1, 10000, f);
    fclose(f);
    assert_int_equal(text.data[text.len - 1], '\n');
    const char *types[] = {"session", "model_change", "message", "session_info"};
    struct sv rest = sv_make(text.data, text.len), line;
    char last[64] = "";
    for (size_t i = 0; sv_next_line(&rest, &line); i++) {
        struct json *j = NULL;
        OK(json_parse(&j, line, NULL, &err));
        assert_string_equal(json_get_str(j, "type"), types[i]);
        assert_int_equal(strlen(json_get_str(j, "timestamp")), 24);
        if (i > 0) {
            const char *parent = json_get_str(j, "parentId");
            assert_string_equal(parent ? parent : "", last);
            assert_non_null(json_get(j, "parentId"));
            assert_int_equal(strlen(json_get_str(j, "id")), 8);
            snprintf(last, sizeof last, "%s", json_get_str(j, "id"));
        }
        json_destroy(j);
    }
    buf_finish(&text);
    session_close(s);
}

static void test_in_memory(void **state)
{
    (void)state;
    struct session *s = NULL;
    struct session_options options = {.cwd = "/work", .id = "0197-abc"};
    OK(session_create(&s, &options, &err));
    add_user(s, "hello");
    OK(session_add_model(s, "maker", "model", &err));
    OK(session_sync(s, &err));
    assert_null(session_path(s));
    assert_null(session_read_only(s));
    assert_string_equal(session_model(s), "model");
    struct json *j = NULL;
    OK(json_parse(&j, sv_of(session_header(s)), NULL, &err));
    assert_string_equal(json_get_str(j, "cwd"), "/work");
    json_destroy(j);
    session_close(s);
    session_close(NULL);
}

static void test_given_path(void **state)
{
    (void)state;
    struct session *s = NULL;
    struct session_options options = {
        .cwd = "/work", .id = "0197-abc", .path = scratch_path(dir, "mine.jsonl")};
    scratch_text(dir, "mine.jsonl", "");
    OK(session_create(&s, &options, &err));
    add_user(s, "hello");
    session_close(s);
    s = reopen(scratch_path(dir, "mine.jsonl"));
    assert_string_equal(texts(s), "u:hello");
    session_close(s);
    scratch_text(dir, "full", "precious");
    options.path = scratch_path(dir, "full");
    OK(session_create(&s, &options, &err));
    struct pi_error err = {0};
    assert_int_equal(session_add_name(s, "x", &err), PI_IO);
    session_close(s);
    assert_true(scratch_holds(dir, "full", "precious"));
}

static void test_what_is_no_session(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n",
        "Dear diary,\n",
        "{}\n",
        "[1]\n",
        "null\n",
        "{\"type\":\"session\"}\n",
        "{\"type\":\"session\",\"id\":7}\n",
        "{\"type\":\"session\",\"id\":\"../../x\"}\n",
        "{\"type\":\"session\",\"id\":\"x\",\"version\":4}\n",
        "{\"type\":\"session\",\"id\":\"x\",\"vers",
        "{\"type\":\"message\",\"id\":\"x\"}\n" HEADER,
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct session *s = NULL;
        struct journal_owner owner;
        struct pi_error err = {0};
        scratch_text(dir, "file", texts[i]);
        assert_int_equal(
            session_open(&s, scratch_path(dir, "file"), &problems, &owner, &err),
            PI_INVALID);
        assert_non_null(strstr(err.message, scratch_path(dir, "file")));
        assert_true(scratch_holds(dir, "file", texts[i]));
    }
}

#define ENTRY(id, parent, text)                                                          \
    "{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent                       \
    ",\"timestamp\":\"2026-01-31T12:00:01.000Z\",\"message\":{\"role\":\"user\","        \
    "\"content\":\"" text "\"}}\n"

static void test_bad_lines_are_passed_over(void **state)
{
    (void)state;
    struct session *s = open_text(
        HEADER ENTRY("a", "null", "1") "\n  \nrubbish\n" ENTRY("c", "\"b\"", "3")
            ENTRY("d", "\"c\"",
                  "4") "{\"type\":\"message\",\"id\":\"e\","
                       "\"parentId\":\"d\",\"timestamp\":\"2\n" ENTRY("f", "\"e\"", "6"));
    assert_string_equal(texts(s), "u:1 u:3 u:4 u:6");
    assert_non_null(strstr(buf_cstr(&problems), "line 5 is damaged"));
    assert_non_null(strstr(buf_cstr(&problems), "line 8 is damaged"));
    session_close(s);
}

static void test_branches(void **state)
{
    (void)state;
    struct session *s = open_text(HEADER ENTRY("a", "null", "1") ENTRY("b", "\"a\"", "2")
                                      ENTRY("c", "\"b\"", "3") ENTRY("d", "\"a\"", "4"));
    assert_string_equal(texts(s), "u:1 u:4");
    add_user(s, "5");
    assert_string_equal(texts(s), "u:1 u:4 u:5");
    session_close(s);
    // The children of what is lost stay together.
    s = open_text(HEADER ENTRY("a", "null", "1") ENTRY("c", "\"lost\"", "3")
                      ENTRY("d", "\"c\"", "4") ENTRY("e", "\"lost\"", "5"));
    assert_string_equal(texts(s), "u:1 u:5");
    session_close(s);
    // A second root; the same id twice; parents that come later or are their own.
    s = open_text(HEADER ENTRY("a", "null", "1") ENTRY("b", "null", "2"));
    assert_string_equal(texts(s), "u:2");
    session_close(s);
    s = open_text(HEADER ENTRY("a", "null", "1") ENTRY("a", "\"a\"", "2")
                      ENTRY("b", "\"a\"", "3"));
    assert_string_equal(texts(s), "u:1 u:2 u:3");
    session_close(s);
    s = open_text(HEADER ENTRY("a", "\"b\"", "1") ENTRY("b", "\"a\"", "2"));
    assert_string_equal(texts(s), "u:1 u:2");
    session_close(s);
    s = open_text(HEADER ENTRY("a", "\"a\"", "1"));
    assert_string_equal(texts(s), "u:1");
    session_close(s);
}

// Cut at every byte: what stood whole before the cut is there, and so is what follows.
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    const char *whole =
        HEADER ENTRY("a", "null", "1") ENTRY("b", "\"a\"", "2") ENTRY("c", "\"b\"", "3");
    size_t header = strlen(HEADER);
    size_t entry = strlen(ENTRY("a", "null", "1"));
    for (size_t n = header - 1; n <= strlen(whole); n++) {
        scratch_write(dir, "cut", whole, n);
        struct session *s = reopen(scratch_path(dir, "cut"));
        // A line is whole without its LF, too.
        size_t lines = 0;
        for (const char *p = whole + header; (p = strchr(p, '\n')); p++) {
            lines += (size_t)(p - whole) <= n;
        }
        const char *expected[] = {"", "u:1", "u:1 u:2", "u:1 u:2 u:3"};
        assert_string_equal(texts(s), expected[lines]);
        bool torn =
            n > header && whole[n] != '\n' && whole[n - 1] != '\n' && n < strlen(whole);
        assert_int_equal(problems.len > 0, torn);
        add_user(s, "new");
        struct buf all = {0};
        buf_addf(&all, "%s%su:new", expected[lines], lines ? " " : "");
        assert_string_equal(texts(s), buf_cstr(&all));
        session_close(s);
        s = reopen(scratch_path(dir, "cut"));
        assert_string_equal(texts(s), buf_cstr(&all));
        session_close(s);
        buf_finish(&all);
    }
    assert_true(entry > 100);
}

static void test_nul_blocks(void **state)
{
    (void)state;
    const char *first = HEADER ENTRY("a", "null", "1");
    const char *second = ENTRY("c", "\"b\"", "3") ENTRY("d", "\"c\"", "4");
    struct buf text = {0};
    buf_adds(&text, first);
    for (int i = 0; i < 400; i++) {
        buf_addc(&text, '\0');
    }
    buf_addc(&text, '\n');
    buf_adds(&text, second);
    for (int i = 0; i < 4096; i++) {
        buf_addc(&text, '\0');
    }
    scratch_write(dir, "nul", text.data, text.len);
    buf_finish(&text);
    struct session *s = reopen(scratch_path(dir, "nul"));
    assert_string_equal(texts(s), "u:1 u:3 u:4");
    add_user(s, "5");
    session_close(s);
    s = reopen(scratch_path(dir, "nul"));
    assert_string_equal(texts(s), "u:1 u:3 u:4 u:5");
    session_close(s);
}

static void test_damaged_leaf_is_no_parent(void **state)
{
    (void)state;
    struct session *s =
        open_text(HEADER ENTRY("a", "null", "1") "{\"type\":\"message\",\"id\":\"b\","
                                                 "\"parentId\":\"a\",\"timestamp\":\"t\","
                                                 "\"message\":{\"role\":?}}\n");
    assert_non_null(strstr(buf_cstr(&problems), "the entry b is damaged"));
    add_user(s, "2");
    session_close(s);
    char *text = scratch_read(dir, "file.jsonl", NULL);
    char *added = strstr(text, "?}}\n");
    assert_non_null(strstr(added, "\"parentId\":\"a\""));
    free(text);
}

static void test_entries_without_id(void **state)
{
    (void)state;
    struct session *s = open_text(HEADER ENTRY(
        "a", "null", "1") "{\"type\":\"message\",\"message\":{\"role\":\"user\","
                          "\"content\":\"2\"}}\n");
    assert_string_equal(texts(s), "u:1 u:2");
    add_user(s, "3");
    add_user(s, "4");
    assert_string_equal(texts(s), "u:1 u:2 u:3 u:4");
    session_close(s);
    s = reopen(scratch_path(dir, "file.jsonl"));
    assert_string_equal(texts(s), "u:1 u:2 u:3 u:4");
    session_close(s);
}

#define OLD(text)                                                                        \
    "{\"type\":\"message\",\"timestamp\":\"2025-11-01T12:00:00.000Z\",\"message\":"      \
    "{\"role\":\"user\",\"content\":\"" text "\"}}\n"

static void test_version_1(void **state)
{
    (void)state;
    const char *text =
        "{\"type\":\"session\",\"id\":\"old\",\"cwd\":\"/work\"}\n" OLD("1")
            OLD("2") "{\"type\":\"compaction\",\"timestamp\":\"t\",\"summary\":\"S\","
                     "\"firstKeptEntryIndex\":2}\n" OLD("3");
    struct session *s = open_text(text);
    const char *lead = "u:The conversation up to here was replaced by this summary of it:"
                       "\n\n<summary>\nS\n</summary> u:2 u:3";
    assert_string_equal(texts(s), lead);
    add_user(s, "4");
    session_close(s);
    s = reopen(scratch_path(dir, "file.jsonl"));
    assert_string_equal(strstr(texts(s), "u:2"), "u:2 u:3 u:4");
    assert_int_equal(problems.len, 0);
    session_close(s);
    char *all = scratch_read(dir, "file.jsonl", NULL);
    assert_memory_equal(all, text, strlen(text));
    assert_null(strstr(all + strlen(text), "parentId"));
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file_appears_with_the_first_entry),
        TEST(test_form_of_the_file),
        TEST(test_in_memory),
        TEST(test_given_path),
        TEST(test_what_is_no_session),
        TEST(test_bad_lines_are_passed_over),
        TEST(test_branches),
        TEST(test_cut_at_every_byte),
        TEST(test_nul_blocks),
        TEST(test_damaged_leaf_is_no_parent),
        TEST(test_entries_without_id),
        TEST(test_version_1),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_finish(&problems);
    return failed;
}
