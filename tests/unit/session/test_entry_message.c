#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "session/entry_message.h"

static struct message *read_entry(const char *text, enum pi_status expected)
{
    struct json *j = NULL;
    struct message *m = (struct message *)1;
    struct pi_error err = {0};
    assert_int_equal(json_parse(&j, sv_of(text), NULL, NULL), PI_OK);
    enum pi_status status = entry_message(&m, j, &err);
    json_destroy(j);
    if (status != expected) {
        fail_msg("%s: status %d, %s", text, status, err.message);
    }
    assert_true(status == PI_OK || !m);
    return m;
}

static void expect_text(const char *entry, const char *text)
{
    struct message *m = read_entry(entry, PI_OK);
    struct buf b = {0};
    assert_non_null(m);
    assert_int_equal(m->role, ROLE_USER);
    content_text(&m->content, &b);
    assert_string_equal(buf_cstr(&b), text);
    buf_finish(&b);
    message_destroy(m);
}

#define BASH(more)                                                                       \
    "{\"type\":\"message\",\"message\":{\"role\":\"bashExecution\",\"command\":"         \
    "\"make\"" more "}}"
#define RAN "The user ran this command:\n```\nmake\n```\n"

static void test_commands_of_the_user(void **state)
{
    (void)state;
    expect_text(BASH(), RAN "It printed nothing.\n");
    expect_text(BASH(",\"output\":\"a\\nb\",\"exitCode\":2"),
                RAN "Its output:\n```\na\nb\n```\nIt exited with code 2.");
    expect_text(BASH(",\"output\":\"```\\n\",\"cancelled\":true"),
                RAN "Its output:\n````\n```\n````\nThe user stopped it.");
    expect_text(
        BASH(",\"output\":\"x\",\"truncated\":true,\"fullOutputPath\":\"/tmp/l\""),
        RAN "Its output:\n```\nx\n```\nOnly the end of the output is shown; all of "
            "it is in /tmp/l.\n");
    assert_null(read_entry(BASH(",\"excludeFromContext\":true"), PI_OK));
    read_entry("{\"type\":\"message\",\"message\":{\"role\":\"bashExecution\"}}",
               PI_INVALID);
}

static void test_what_means_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{\"type\":7}",
        "{\"type\":\"label\",\"label\":\"x\"}",
        "{\"type\":\"custom\",\"data\":{}}",
        "{\"type\":\"model_change\",\"provider\":\"p\",\"modelId\":\"m\"}",
        "{\"type\":\"message\",\"message\":{\"role\":\"later\"}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_null(read_entry(texts[i], PI_OK));
    }
}

static void test_what_cannot_be_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"type\":\"message\"}",
        "{\"type\":\"message\",\"message\":7}",
        "{\"type\":\"message\",\"message\":{}}",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\"}}",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":{}}}",
        "{\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"content\":[]}}",
        "{\"type\":\"compaction\"}",
        "{\"type\":\"branch_summary\",\"summary\":7}",
        "{\"type\":\"custom_message\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_entry(texts[i], PI_INVALID);
    }
}

static void test_times(void **state)
{
    (void)state;
    struct message *m = read_entry("{\"type\":\"custom_message\",\"content\":\"x\","
                                   "\"timestamp\":\"2026-01-31T12:00:00.250Z\"}",
                                   PI_OK);
    assert_int_equal(m->timestamp_ms, 1769860800250);
    message_destroy(m);
    m = read_entry("{\"type\":\"message\",\"timestamp\":\"2026-01-31T12:00:00.250Z\","
                   "\"message\":{\"role\":\"user\",\"content\":\"x\",\"timestamp\":5}}",
                   PI_OK);
    assert_int_equal(m->timestamp_ms, 5);
    message_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_of_the_user),
        cmocka_unit_test(test_what_means_nothing),
        cmocka_unit_test(test_what_cannot_be_read),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
