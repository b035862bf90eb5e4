#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "llm/llm.h"

static void assert_json(struct json *j, const char *expected)
{
    struct buf text = {0};
    json_write(&text, j);
    assert_string_equal(buf_cstr(&text), expected);
    buf_finish(&text);
    json_destroy(j);
}

static struct block *add(struct content *c, enum block_type type, const char *text)
{
    struct block *b = content_add(c, type);
    assert_non_null(b);
    buf_adds(&b->text, text);
    return b;
}

static void fill_all_blocks(struct content *c)
{
    add(c, BLOCK_TEXT, "one")->signature = strdup("s1");
    struct block *thinking = add(c, BLOCK_THINKING, "hm");
    thinking->signature = strdup("s2");
    thinking->redacted = true;
    add(c, BLOCK_IMAGE, "QUJD")->mime_type = strdup("image/png");
    struct block *call = add(c, BLOCK_TOOL_CALL, "{\"path\": \"a\"}");
    call->id = strdup("t1");
    call->name = strdup("read");
    call->complete = true;
}

static const char all_blocks[] =
    "[{\"type\":\"text\",\"text\":\"one\",\"textSignature\":\"s1\"},"
    "{\"type\":\"thinking\",\"thinking\":\"hm\",\"thinkingSignature\":\"s2\","
    "\"redacted\":true},"
    "{\"type\":\"image\",\"data\":\"QUJD\",\"mimeType\":\"image/png\"},"
    "{\"type\":\"toolCall\",\"id\":\"t1\",\"name\":\"read\",\"arguments\":{\"path\":"
    "\"a\"}}]";

static void content_has_the_forms_of_session_files(void **state)
{
    (void)state;
    struct content c = {0};
    fill_all_blocks(&c);
    assert_json(content_json(&c), all_blocks);
    struct content copy;
    assert_true(content_copy(&copy, &c));
    content_finish(&c);
    assert_json(content_json(&copy), all_blocks);
    content_finish(&copy);
    content_finish(&copy);
    assert_json(content_json(&c), "[]");
}

static void arguments_that_are_no_object_show_as_empty(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool complete;
    } cases[] = {{"{\"a\":1", true}, {"{\"a\":1}", false}, {"[1]", true}, {"", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct content c = {0};
        add(&c, BLOCK_TOOL_CALL, cases[i].text)->complete = cases[i].complete;
        assert_json(
            content_json(&c),
            "[{\"type\":\"toolCall\",\"id\":\"\",\"name\":\"\",\"arguments\":{}}]");
        content_finish(&c);
    }
}

static void text_joins_text_blocks_only(void **state)
{
    (void)state;
    struct content c = {0};
    struct buf out = {0};
    assert_true(content_add_text(&c, sv_of("a")));
    add(&c, BLOCK_THINKING, "no");
    assert_true(content_add_text(&c, sv_of("b")));
    content_text(&c, &out);
    assert_string_equal(buf_cstr(&out), "a\nb");
    buf_finish(&out);
    content_finish(&c);
}

static void assistant_message(void **state)
{
    (void)state;
    struct message *m = message_create(ROLE_ASSISTANT);
    assert_non_null(m);
    assert_true(m->timestamp_ms > 1500000000000);
    m->timestamp_ms = 1700000000123;
    m->api = strdup("replay");
    m->provider = strdup("p");
    m->model = strdup("m");
    m->response_id = strdup("r");
    m->error_message = strdup("e");
    m->stop_reason = STOP_TOOL_USE;
    m->usage = (struct usage){.input = 1,
                              .output = 2,
                              .cache_read = 3,
                              .cache_write = 4,
                              .total = 10,
                              .cost_total = 0.5};
    assert_json(
        message_json(m),
        "{\"role\":\"assistant\",\"content\":[],\"api\":\"replay\",\"provider\":\"p\","
        "\"model\":\"m\",\"responseId\":\"r\",\"usage\":{\"input\":1,\"output\":2,"
        "\"cacheRead\":3,\"cacheWrite\":4,\"totalTokens\":10,\"cost\":{\"input\":0,"
        "\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0.5}},"
        "\"stopReason\":\"toolUse\",\"errorMessage\":\"e\","
        "\"timestamp\":1700000000123}");
    message_destroy(m);
    message_destroy(NULL);
}

static void user_and_tool_result_messages(void **state)
{
    (void)state;
    struct message *m = message_create(ROLE_USER);
    m->timestamp_ms = 5;
    assert_true(content_add_text(&m->content, sv_of("hi")));
    assert_json(message_json(m), "{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                                 "\"text\":\"hi\"}],\"timestamp\":5}");
    m->role = ROLE_TOOL_RESULT;
    m->tool_call_id = strdup("t1");
    m->tool_name = strdup("read");
    m->is_error = true;
    m->details = json_new_object();
    assert_json(message_json(m),
                "{\"role\":\"toolResult\",\"toolCallId\":\"t1\",\"toolName\":\"read\","
                "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"details\":{},"
                "\"isError\":true,\"timestamp\":5}");
    message_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_has_the_forms_of_session_files),
        cmocka_unit_test(arguments_that_are_no_object_show_as_empty),
        cmocka_unit_test(text_joins_text_blocks_only),
        cmocka_unit_test(assistant_message),
        cmocka_unit_test(user_and_tool_result_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
