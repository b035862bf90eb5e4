#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/llm.h"

// What is read and written again is the same text.
static void test_there_and_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":"
        "\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}],\"timestamp\":5}",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\","
        "\"thinkingSignature\":\"s\",\"redacted\":true},{\"type\":\"text\",\"text\":\"\","
        "\"textSignature\":\"x\"},{\"type\":\"toolCall\",\"id\":\"1\",\"name\":\"n\","
        "\"arguments\":{\"a\":[1,null,\"\\u0001\"]},\"thoughtSignature\":\"y\"}],\"api\":"
        "\"a\",\"provider\":\"p\",\"model\":\"m\",\"responseId\":\"r\",\"usage\":{"
        "\"input\":"
        "1,\"output\":2,\"cacheRead\":3,\"cacheWrite\":4,\"totalTokens\":10,\"cost\":{"
        "\"input\":0.5,\"output\":0.25,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0.75}},"
        "\"stopReason\":\"aborted\",\"errorMessage\":\"e\",\"timestamp\":1769860800250}",
        "{\"role\":\"toolResult\",\"toolCallId\":\"1\",\"toolName\":\"n\",\"content\":[],"
        "\"details\":{\"x\":1},\"isError\":true,\"timestamp\":5}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json *j = NULL;
        struct message *m = NULL;
        struct buf b = {0};
        assert_int_equal(json_parse(&j, sv_of(texts[i]), NULL, NULL), PI_OK);
        assert_int_equal(message_parse(&m, j, NULL), PI_OK);
        json_destroy(j);
        j = message_json(m);
        json_write(&b, j);
        assert_string_equal(buf_cstr(&b), texts[i]);
        buf_finish(&b);
        json_destroy(j);
        message_destroy(m);
    }
}

static struct message *parse(const char *text, enum pi_status expected)
{
    struct json *j = NULL;
    struct message *m = NULL;
    struct pi_error err = {0};
    assert_int_equal(json_parse(&j, sv_of(text), NULL, NULL), PI_OK);
    enum pi_status status = message_parse(&m, j, &err);
    json_destroy(j);
    if (status != expected) {
        fail_msg("%s: status %d, %s", text, status, err.message);
    }
    return m;
}

static void test_what_is_missing_is_empty(void **state)
{
    (void)state;
    struct message *m = parse("{\"role\":\"assistant\",\"content\":[]}", PI_OK);
    assert_int_equal(m->stop_reason, STOP_ERROR);
    assert_int_equal(m->usage.total, 0);
    assert_null(m->provider);
    message_destroy(m);
    m = parse(
        "{\"role\":\"assistant\",\"content\":[{},7,null,{\"type\":\"later\"},{\"type\":"
        "\"text\"},{\"type\":\"toolCall\",\"arguments\":\"{}\"},{\"type\":\"image\"}],"
        "\"usage\":{\"input\":1e300,\"output\":-1},\"stopReason\":\"later\","
        "\"timestamp\":\"yesterday\"}",
        PI_OK);
    assert_int_equal(m->content.len, 3);
    assert_string_equal(buf_cstr(&m->content.blocks[1].text), "{}");
    assert_null(m->content.blocks[1].id);
    assert_int_equal(m->usage.input, 0);
    assert_int_equal(m->stop_reason, STOP_ERROR);
    assert_int_equal(m->timestamp_ms, 0);
    message_destroy(m);
    m = parse("{\"role\":\"user\",\"content\":\"plain\"}", PI_OK);
    assert_string_equal(buf_cstr(&m->content.blocks[0].text), "plain");
    message_destroy(m);
}

static void test_what_is_no_message(void **state)
{
    (void)state;
    parse("[]", PI_UNSUPPORTED);
    parse("{}", PI_UNSUPPORTED);
    parse("{\"role\":\"later\",\"content\":\"\"}", PI_UNSUPPORTED);
    parse("{\"role\":\"user\"}", PI_INVALID);
    parse("{\"role\":\"user\",\"content\":7}", PI_INVALID);
    parse("{\"role\":\"toolResult\",\"content\":[]}", PI_INVALID);
    parse("{\"role\":\"toolResult\",\"toolCallId\":7,\"content\":[]}", PI_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_what_is_missing_is_empty),
        cmocka_unit_test(test_what_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
