#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/arguments.h"

static void expect(const char *text, const char *want)
{
    struct buf out = {0};
    enum pi_status status = arguments_repair(&out, sv_of(text), NULL);
    assert_int_equal(status, want ? PI_OK : PI_INVALID);
    assert_string_equal(buf_cstr(&out), want ? want : "");
    buf_finish(&out);
}

static void an_object_stays_as_it_is(void **state)
{
    (void)state;
    expect("{}", "{}");
    expect(" {\"a\" : 12345678901234567890, \"b\":1e2}\n",
           "{\"a\" : 12345678901234567890, \"b\":1e2}");
    expect("{\"a\":\"\\u00e9\\n\\/\"}", "{\"a\":\"\\u00e9\\n\\/\"}");
}

static void nothing_is_an_empty_object(void **state)
{
    (void)state;
    expect("", "{}");
    expect(" \r\n\t", "{}");
}

static void raw_control_characters_are_escaped(void **state)
{
    (void)state;
    expect("{\"a\":\"x\n\ty\"}", "{\"a\":\"x\\u000a\\u0009y\"}");
    expect("{\n\"a\":1\n}", "{\n\"a\":1\n}");
}

static void backslashes_before_other_letters_are_doubled(void **state)
{
    (void)state;
    expect("{\"a\":\"C:\\Users\\d\"}", "{\"a\":\"C:\\\\Users\\\\d\"}");
    expect("{\"a\":\"\\`\"}", "{\"a\":\"\\\\`\"}");
    expect("{\"a\":\"\\u12\"}", "{\"a\":\"\\\\u12\"}");
}

static void a_fence_is_taken_off(void **state)
{
    (void)state;
    expect("```json\n{\"a\":1}\n```", "{\"a\":1}");
    expect("```\n{\"a\":1}```\n", "{\"a\":1}");
    expect("```{\"a\":1}```", "{\"a\":1}");
    expect("``````", NULL);
    expect("```json\n{\"a\":1}", NULL);
    expect("```json\n```", NULL);
}

static void an_object_in_a_string_is_decoded_once(void **state)
{
    (void)state;
    expect("\"{\\\"a\\\":1}\"", "{\"a\":1}");
    expect("\"{\\\"a\\\":\\\"x\\\\ny\\\"}\"", "{\"a\":\"x\\ny\"}");
    expect("\"\\\"{}\\\"\"", NULL);
    expect("\"\"", NULL);
    expect("\"hello\"", NULL);
    expect("\"{\\\"a\\\":\"", NULL);
}

static void missing_text_is_never_guessed(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"a\":\"half of the",
        "{\"a\":1",
        "{\"a\":",
        "{",
        "{}{}",
        "{\"a\":1}{\"a\":2}",
        "{\"a\":1,}",
        "{'a':1}",
        "{a:1}",
        "{\"a\":NaN}",
        "[]",
        "[{}]",
        "null",
        "1",
        "true",
        "x",
        "\"",
        "`",
        "```",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(rows[i], NULL);
    }
}

static void what_no_server_takes_is_replaced(void **state)
{
    (void)state;
    expect("{\"a\":\"\\ud83d\"}", "{\"a\":\"\\ufffd\"}");
    expect("{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\\ud83d\\ude00\"}");
    expect("{\"a\":\"\xff\"}", "{\"a\":\"\xef\xbf\xbd\"}");
    expect("{\"a\":\"\\u0000\"}", "{\"a\":\"\\ufffd\"}");
}

static void expect_end(const char *text, bool complete, const char *want)
{
    struct block b = {.type = BLOCK_TOOL_CALL};
    buf_adds(&b.text, text);
    assert_int_equal(arguments_end(&b, NULL), PI_OK);
    assert_int_equal(b.complete, complete);
    assert_string_equal(buf_cstr(&b.text), want);
    block_finish(&b);
}

static void at_the_end_only_repaired_text_is_replaced(void **state)
{
    (void)state;
    expect_end(" {\"a\": 1} ", true, " {\"a\": 1} ");
    // The check of the arguments is to see the NUL.
    expect_end("{\"a\":\"\\u0000\"}", true, "{\"a\":\"\\u0000\"}");
    expect_end("", true, "{}");
    expect_end("{\"a\":\"\\d\"}", true, "{\"a\":\"\\\\d\"}");
    expect_end("```\n{}\n```", true, "{}");
    expect_end("{\"a\":", false, "{\"a\":");
    expect_end("[]", false, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_stays_as_it_is),
        cmocka_unit_test(nothing_is_an_empty_object),
        cmocka_unit_test(raw_control_characters_are_escaped),
        cmocka_unit_test(backslashes_before_other_letters_are_doubled),
        cmocka_unit_test(a_fence_is_taken_off),
        cmocka_unit_test(an_object_in_a_string_is_decoded_once),
        cmocka_unit_test(missing_text_is_never_guessed),
        cmocka_unit_test(what_no_server_takes_is_replaced),
        cmocka_unit_test(at_the_end_only_repaired_text_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
