// A file with every type of entry as the reference agent writes them: what the model gets
// of it, and what a reader by the reference agent's rules finds after we went on with it.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "scratch.h"
#include "session/session.h"

static char *dir;
static const char *path;
static char *original;
static size_t original_len;

static int setup(void **state)
{
    (void)state;
    dir = scratch_make();
    original =
        scratch_read(getenv("PI_TEST_DATA"), "sessions/every_entry.jsonl", &original_len);
    scratch_write(dir, "session.jsonl", original, original_len);
    path = scratch_path(dir, "session.jsonl");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(original);
    scratch_remove(dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct session *reopen(void)
{
    struct session *s = NULL;
    struct buf problems = {0};
    struct journal_owner owner;
    struct pi_error err = {0};
    if (session_open(&s, path, &problems, &owner, &err) != PI_OK || problems.len > 0) {
        fail_msg("%s%s", err.message, buf_cstr(&problems));
    }
    return s;
}

static struct session_messages load(struct session *s)
{
    struct session_messages all = {0};
    struct buf problems = {0};
    assert_int_equal(session_messages(s, &all, &problems, NULL), PI_OK);
    assert_string_equal(buf_cstr(&problems), "");
    return all;
}

static void messages_finish(struct session_messages *all)
{
    for (size_t i = 0; i < all->len; i++) {
        message_destroy(all->items[i]);
    }
    free(all->items);
}

static void add(struct session *s, enum role role, const char *text)
{
    struct message *m = message_create(role);
    struct pi_error err = {0};
    assert_true(content_add_text(&m->content, sv_of(text)));
    if (session_add_message(s, m, &err) != PI_OK) {
        fail_msg("%s", err.message);
    }
    message_destroy(m);
}

static const char *text_of(const struct message *m)
{
    static struct buf text;
    buf_clear(&text);
    content_text(&m->content, &text);
    return buf_cstr(&text);
}

static void test_what_the_model_gets(void **state)
{
    (void)state;
    static const struct {
        enum role role;
        const char *text; // its end
    } expected[] = {
        {ROLE_USER, "<summary>\nWhat happened before.\n</summary>"},
        {ROLE_USER, "look at this"},
        {ROLE_ASSISTANT, "I read it."},
        {ROLE_TOOL_RESULT, "1\n2\n"},
        {ROLE_USER, "injected text"},
        {ROLE_USER,
         "```\nmake test\n```\nIts output:\n```\nok\n```\nIt exited with code 0."},
        {ROLE_USER, "from an extension"},
        {ROLE_USER, "<summary>\nA dead end was tried.\n</summary>"},
        {ROLE_USER, "go on"},
        {ROLE_ASSISTANT, "It was cut"},
    };
    size_t len = sizeof expected / sizeof expected[0];
    struct session *s = reopen();
    struct session_messages all = load(s);
    assert_int_equal(all.len, len);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(all.items[i]->role, expected[i].role);
        if (!sv_ends(sv_of(text_of(all.items[i])), sv_of(expected[i].text))) {
            fail_msg("message %zu is %s", i, text_of(all.items[i]));
        }
    }
    assert_string_equal(session_provider(s), "openai");
    assert_string_equal(session_model(s), "gpt-5");
    assert_string_equal(session_thinking(s), "high");
    assert_string_equal(session_name(s), "Überarbeitung");
    assert_string_equal(session_cwd(s), "/home/user/project");
    messages_finish(&all);
    session_close(s);
}

static void test_blocks_survive(void **state)
{
    (void)state;
    struct session *s = reopen();
    struct session_messages all = load(s);
    const struct content *user = &all.items[1]->content;
    assert_int_equal(user->len, 2);
    assert_int_equal(user->blocks[1].type, BLOCK_IMAGE);
    assert_string_equal(user->blocks[1].mime_type, "image/png");
    assert_string_equal(buf_cstr(&user->blocks[1].text), "iVBORw0KGgo=");
    const struct message *answer = all.items[2];
    const struct block *b = answer->content.blocks;
    assert_int_equal(answer->content.len, 4);
    assert_string_equal(buf_cstr(&b[0].text), "Let me see.");
    assert_string_equal(b[0].signature, "c2ln");
    assert_true(b[1].redacted);
    assert_string_equal(b[1].signature, "cmVk");
    assert_string_equal(b[2].signature, "{\"v\":1,\"id\":\"m1\"}");
    assert_string_equal(buf_cstr(&b[3].text), "{\"path\":\"a.txt\",\"limit\":10}");
    assert_string_equal(b[3].id, "toolu_01");
    assert_string_equal(b[3].name, "read");
    assert_string_equal(b[3].signature, "dGg=");
    assert_true(b[3].complete);
    assert_int_equal(answer->stop_reason, STOP_TOOL_USE);
    assert_int_equal(answer->usage.cache_read, 100);
    assert_true(answer->usage.cost_total > 0.0001349);
    assert_string_equal(answer->response_id, "msg_1");
    assert_string_equal(all.items[3]->tool_call_id, "toolu_01");
    assert_non_null(all.items[3]->details);
    assert_int_equal(all.items[9]->stop_reason, STOP_ERROR);
    assert_string_equal(all.items[9]->error_message, "overloaded");
    messages_finish(&all);
    session_close(s);
}

/* -- the reference agent's rules, as simply as can be -- */

struct reader {
    struct json *entries[64];
    size_t len;
    struct json *path[64]; // leaf first
    size_t path_len;
};

static struct json *by_id(struct reader *r, const char *id)
{
    for (size_t i = r->len; id && i-- > 1;) {
        if (strcmp(json_get_str(r->entries[i], "id"), id) == 0) {
            return r->entries[i];
        }
    }
    return NULL;
}

static void read_all(struct reader *r)
{
    struct buf text = {0};
    size_t n = 0;
    char *bytes = scratch_read(dir, "session.jsonl", &n);
    struct sv rest = sv_make(bytes, n), line;
    *r = (struct reader){0};
    while (sv_next_line(&rest, &line)) {
        assert_int_equal(json_parse(&r->entries[r->len++], line, NULL, NULL), PI_OK);
    }
    assert_string_equal(json_get_str(r->entries[0], "type"), "session");
    assert_true(json_get_num(r->entries[0], "version", 0) == 3);
    for (struct json *e = r->entries[r->len - 1]; e;
         e = by_id(r, json_get_str(e, "parentId"))) {
        r->path[r->path_len++] = e;
    }
    assert_int_equal(json_type(json_get(r->path[r->path_len - 1], "parentId")),
                     JSON_NULL);
    buf_finish(&text);
    free(bytes);
}

static void reader_finish(struct reader *r)
{
    for (size_t i = 0; i < r->len; i++) {
        json_destroy(r->entries[i]);
    }
}

static void test_goes_on_readably(void **state)
{
    (void)state;
    struct session *s = reopen();
    struct session_messages before = load(s);
    struct pi_error err;
    assert_int_equal(session_add_model(s, "anthropic", "claude", &err), PI_OK);
    assert_int_equal(session_add_thinking(s, "low", &err), PI_OK);
    add(s, ROLE_USER, "new prompt");
    add(s, ROLE_ASSISTANT, "new answer \"with\" \\ and \x01 and \xff");
    add(s, ROLE_TOOL_RESULT, "");
    assert_int_equal(session_add_name(s, "", &err), PI_OK);
    assert_null(session_name(s));
    session_close(s);

    size_t n = 0;
    char *bytes = scratch_read(dir, "session.jsonl", &n);
    assert_memory_equal(bytes, original, original_len);
    free(bytes);
    struct reader r;
    read_all(&r);
    assert_int_equal(r.len, 26 + 6);
    // From the old root to the new leaf, without the branch that was left.
    assert_int_equal(r.path_len, 25 + 6 - 2);
    static const char *const types[] = {
        "session_info",          "message",     "message", "message",
        "thinking_level_change", "model_change"};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(json_get_str(r.path[i], "type"), types[i]);
        assert_int_equal(strlen(json_get_str(r.path[i], "timestamp")), 24);
        assert_int_equal(strlen(json_get_str(r.path[i], "id")), 8);
    }
    assert_string_equal(json_get_str(r.path[6], "id"), "00000019");
    const struct json *message = json_get(r.path[3], "message");
    assert_string_equal(json_get_str(message, "role"), "user");
    assert_non_null(json_get(message, "content"));
    reader_finish(&r);

    s = reopen();
    struct session_messages after = load(s);
    assert_int_equal(after.len, before.len + 3);
    assert_string_equal(text_of(after.items[before.len]), "new prompt");
    assert_string_equal(text_of(after.items[before.len + 1]),
                        "new answer \"with\" \\ and \x01 and \xef\xbf\xbd");
    messages_finish(&before);
    messages_finish(&after);
    session_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_the_model_gets),
        TEST(test_blocks_survive),
        TEST(test_goes_on_readably),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
