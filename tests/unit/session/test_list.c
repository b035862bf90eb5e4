#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "scratch.h"
#include "session/list.h"
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

// A session of one prompt; age: how long ago the file was changed.
static void make(const char *name, const char *id, const char *cwd, int age)
{
    struct buf text = {0};
    buf_addf(
        &text,
        "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"cwd\":\"%s\"}\n"
        "{\"type\":\"model_change\",\"id\":\"1\",\"parentId\":null,\"timestamp\":\"\"}\n"
        "{\"type\":\"message\",\"id\":\"2\",\"parentId\":\"1\",\"timestamp\":"
        "\"2026-01-31T12:00:%02d.000Z\",\"message\":{\"role\":\"user\",\"content\":"
        "\"  prompt\\n of %s\\u0007 \"}}\n",
        id, cwd, 59 - age, id);
    scratch_write(dir, name, text.data, text.len);
    buf_finish(&text);
    struct timespec times[2] = {{.tv_sec = 1800000000 - age},
                                {.tv_sec = 1800000000 - age}};
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(dir, name), times, 0), 0);
}

static void test_folder(void **state)
{
    (void)state;
    char *path = session_dir("/h/.pi/agent", "/home/me/a:b\\c");
    assert_string_equal(path, "/h/.pi/agent/sessions/--home-me-a-b-c--");
    free(path);
    path = session_dir("/h/.pi/agent", "/");
    assert_string_equal(path, "/h/.pi/agent/sessions/----");
    free(path);
    char cwd[1000] = "/";
    memset(cwd + 1, 'x', sizeof cwd - 2);
    path = session_dir("/h", cwd);
    assert_true(strlen(strrchr(path, '/') + 1) <= 255);
    cwd[998] = 'y';
    char *other = session_dir("/h", cwd);
    assert_string_not_equal(path, other);
    free(other);
    free(path);
}

static void test_newest(void **state)
{
    (void)state;
    char *path = NULL;
    struct pi_error err;
    assert_int_equal(session_newest(&path, scratch_path(dir, "none"), "/w", &err),
                     PI_NOT_FOUND);
    assert_int_equal(session_newest(&path, dir, "/w", &err), PI_NOT_FOUND);
    make("a.jsonl", "a", "/w", 30);
    make("b.jsonl", "b", "/w", 20);
    make("c.jsonl", "c", "/other", 10);
    scratch_text(dir, "d.jsonl", "no session\n");
    scratch_text(dir, "e.jsonl", "");
    scratch_text(dir, "f.txt", "");
    assert_int_equal(mkfifo(scratch_path(dir, "g.jsonl"), 0600), 0);
    assert_int_equal(mkdir(scratch_path(dir, "h.jsonl"), 0700), 0);
    assert_int_equal(symlink("nowhere", scratch_path(dir, "i.jsonl")), 0);
    assert_int_equal(session_newest(&path, dir, "/w", &err), PI_OK);
    assert_string_equal(path, scratch_path(dir, "b.jsonl"));
    free(path);
}

static void test_find(void **state)
{
    (void)state;
    char *path = NULL;
    struct pi_error err;
    mkdir(scratch_path(dir, "here"), 0700);
    mkdir(scratch_path(dir, "there"), 0700);
    make("here/a.jsonl", "0198-aaaa", "/w", 1);
    make("here/b.jsonl", "0198-abbb", "/w", 1);
    make("there/c.jsonl", "0198-aacc", "/w", 1);
    make("there/d.jsonl", "0199-dddd", "/w", 1);
    scratch_text(dir, "file", "");
    const char *here = scratch_path(dir, "here");
    assert_int_equal(session_find(&path, "0198-aa", here, dir, &err), PI_OK);
    assert_string_equal(path, scratch_path(dir, "here/a.jsonl"));
    free(path);
    assert_int_equal(session_find(&path, "0198-a", here, dir, &err), PI_INVALID);
    assert_int_equal(session_find(&path, "0199", here, dir, &err), PI_OK);
    assert_string_equal(path, scratch_path(dir, "there/d.jsonl"));
    free(path);
    assert_int_equal(session_find(&path, "0199", here, NULL, &err), PI_NOT_FOUND);
    assert_int_equal(session_find(&path, "xyz", here, dir, &err), PI_NOT_FOUND);
}

static void test_list(void **state)
{
    (void)state;
    struct session_list list = {0};
    struct pi_error err;
    make("a.jsonl", "a", "/w", 10);
    make("b.jsonl", "b", "/w", 20);
    make("c.jsonl", "c", "/other", 30);
    scratch_text(dir, "d.jsonl", "no session\n");
    scratch_text(
        dir, "e.jsonl",
        "{\"type\":\"session\",\"id\":\"e\"}\nrubbish\n"
        "{\"type\":\"session_info\",\"id\":\"1\",\"parentId\":null,\"timestamp\":"
        "\"\",\"name\":\"old\"}\n{\"type\":\"session_info\",\"id\":\"2\","
        "\"parentId\":\"1\",\"timestamp\":\"\",\"name\":\"new\"}\n{\"type\":\"mess");
    assert_int_equal(session_list(&list, dir, "/w", &err), PI_OK);
    assert_int_equal(list.len, 3);
    // e has no time of its own but that of the file, which is now.
    assert_string_equal(list.items[0].id, "e");
    assert_string_equal(list.items[0].name, "new");
    assert_null(list.items[0].first_message);
    assert_null(list.items[0].cwd);
    assert_int_equal(list.items[0].messages, 0);
    assert_string_equal(list.items[1].id, "a");
    assert_string_equal(list.items[1].first_message, "prompt of a");
    assert_string_equal(list.items[1].path, scratch_path(dir, "a.jsonl"));
    assert_int_equal(list.items[1].messages, 1);
    assert_int_equal(list.items[1].modified_ms, 1769860849000);
    assert_null(list.items[1].name);
    assert_string_equal(list.items[2].id, "b");
    session_list_finish(&list);
    assert_int_equal(session_list(&list, dir, NULL, &err), PI_OK);
    assert_int_equal(list.len, 4);
    session_list_finish(&list);
    assert_int_equal(session_list(&list, scratch_path(dir, "none"), NULL, &err), PI_OK);
    assert_int_equal(list.len, 0);
    session_list_finish(NULL);
}

// Looking disturbs nobody: a session that is listed can be opened for writing meanwhile.
static void test_listing_takes_no_lock(void **state)
{
    (void)state;
    make("a.jsonl", "a", "/w", 10);
    struct journal *reader = NULL;
    assert_int_equal(journal_open(&reader, NULL, scratch_path(dir, "a.jsonl"), NULL),
                     PI_OK);
    struct session *s = NULL;
    struct journal_owner owner;
    struct buf problems = {0};
    assert_int_equal(
        session_open(&s, scratch_path(dir, "a.jsonl"), &problems, &owner, NULL), PI_OK);
    assert_false(owner.other);
    struct session_list list = {0};
    assert_int_equal(session_list(&list, dir, "/w", NULL), PI_OK);
    assert_int_equal(list.len, 1);
    session_list_finish(&list);
    session_close(s);
    journal_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_folder),
        TEST(test_newest),
        TEST(test_find),
        TEST(test_list),
        TEST(test_listing_takes_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
