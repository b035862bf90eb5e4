#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tool/validate.h"

static const char edit_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100},"
    "\"ratio\":{\"type\":\"number\"},"
    "\"all\":{\"type\":\"boolean\"},"
    "\"mode\":{\"enum\":[\"a\",\"b\",3]},"
    "\"note\":{\"type\":[\"string\",\"null\"]},"
    "\"either\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}}]},"
    "\"edits\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\","
    "\"properties\":{\"oldText\":{\"type\":\"string\"},\"newText\":{\"type\":\"string\"}}"
    ","
    "\"required\":[\"oldText\",\"newText\"],\"additionalProperties\":false}}},"
    "\"required\":[\"path\"]}";

/* Parsing */

static void assert_parses(const char *text, const char *expected)
{
    struct json *args = NULL;
    struct buf out = {0};
    struct pi_error err = {0};
    enum pi_status status = validate_parse(&args, NULL, "edit", sv_of(text), &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, PI_OK);
    json_write(&out, args);
    assert_string_equal(buf_cstr(&out), expected);
    buf_finish(&out);
    json_destroy(args);
}

static void assert_refused(struct sv text, const char *const *words)
{
    struct json *args = NULL;
    struct pi_error err = {0};
    assert_int_equal(validate_parse(&args, NULL, "edit", text, &err), PI_INVALID);
    assert_null(args);
    for (; *words; words++) {
        if (!strstr(err.message, *words)) {
            fail_msg("\"%s\" is not in: %s", *words, err.message);
        }
    }
}

#define REFUSED(text, ...)                                                               \
    assert_refused(sv_make(text, sizeof(text) - 1),                                      \
                   (const char *const[]){__VA_ARGS__, NULL})

static void parse_takes_objects(void **state)
{
    (void)state;
    assert_parses("{\"path\":\"a\"}", "{\"path\":\"a\"}");
    assert_parses("", "{}");
    assert_parses(" \n", "{}");
    assert_parses("\"{\\\"path\\\":\\\"a\\\"}\"", "{\"path\":\"a\"}");
    assert_parses("{\"a\":\"\\ud83d\"}", "{\"a\":\"\xEF\xBF\xBD\"}");
}

static void parse_mends_strings(void **state)
{
    (void)state;
    assert_parses("{\"re\":\"\\d+\\.c\"}", "{\"re\":\"\\\\d+\\\\.c\"}");
    assert_parses("{\"a\":\"x\ny\"}", "{\"a\":\"x\\ny\"}");
    assert_parses("{\"a\":\"\\q\",\"b\":\"\t\\\"\"}",
                  "{\"a\":\"\\\\q\",\"b\":\"\\t\\\"\"}");
}

static void parse_tells_mistakes_apart(void **state)
{
    (void)state;
    REFUSED("{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"a", "cut off", "38 bytes",
            "\"edit\"", "Nothing was run");
    REFUSED("{\"a\":tru", "cut off");
    REFUSED("path=a", "not JSON", "byte 0 of 6", "path=a");
    REFUSED("aaaaaaaaaaaaaaaaaa\u4e2dz",
            "starting with \"aaaaaaaaaaaaaaaaaa\"."); // not half a character
    REFUSED("{\"a\":1} {\"b\":2}", "not JSON", "byte 8");
    char deep[3000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    REFUSED(deep, "nested deeper than 512 levels");
    REFUSED("{'a':1}", "not JSON", "byte 1");
    REFUSED("[1]", "JSON object", "an array");
    REFUSED("\"a\"", "JSON object", "a string");
    REFUSED("12", "JSON object", "a number");
}

static void parse_names_the_argument_with_a_nul(void **state)
{
    (void)state;
    REFUSED("{\"path\":\"a\",\"content\":\"x\\u0000y\"}", "\"content\"", "NUL");
    REFUSED("{\"n\":1,\"edits\":[{\"oldText\":\"\\u0000\"}],\"z\":1}", "\"edits\"",
            "NUL");
    REFUSED("{\"path\":\"a\\\\u0000\",\"b\":\"\\u0000\"}", "\"b\"", "NUL");
    assert_parses("{\"path\":\"a\\\\u0000\"}", "{\"path\":\"a\\\\u0000\"}");
}

static void every_beginning_is_called_cut_off(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"path\":\"\\u00e9\\n\",\"n\":[-1.5e3,true,null,{}],\"o\":{\"k\":[]}}";
    for (size_t n = 1; n < sizeof whole - 1; n++) {
        struct json *args = NULL;
        struct pi_error err = {0};
        assert_int_equal(validate_parse(&args, NULL, "x", sv_make(whole, n), &err),
                         PI_INVALID);
        assert_non_null(strstr(err.message, "cut off"));
    }
}

static void parse_tells_what_it_repaired(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool repaired;
    } cases[] = {
        {"{\"a\":\"\U0001F600\\ud83d\\ude00\"}", false},
        {"{\"a\":\"\\ud83d\"}", true},
        {"{\"a\":\"\xE9\"}", true},
        {"\"{\\\"a\\\":\\\"\\\\ud83d\\\"}\"", true}, // encoded twice
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *args = NULL;
        bool repaired = !cases[i].repaired;
        assert_int_equal(
            validate_parse(&args, &repaired, "edit", sv_of(cases[i].text), NULL), PI_OK);
        assert_int_equal(repaired, cases[i].repaired);
        json_destroy(args);
    }
}

/* Checking */

static struct json *parsed(const char *text)
{
    struct json *j = NULL;
    assert_int_equal(json_parse(&j, sv_of(text), NULL, NULL), PI_OK);
    return j;
}

static void assert_converts(const char *text, const char *expected)
{
    struct json *schema = parsed(edit_schema), *args = parsed(text);
    struct buf problems = {0}, out = {0};
    enum pi_status status = validate_arguments(&args, schema, "edit", &problems);
    assert_string_equal(buf_cstr(&problems), "");
    assert_int_equal(status, PI_OK);
    json_write(&out, args);
    assert_string_equal(buf_cstr(&out), expected);
    buf_finish(&out);
    json_destroy(args);
    json_destroy(schema);
}

static void assert_problem(const char *text, const char *line)
{
    struct json *schema = parsed(edit_schema), *args = parsed(text);
    struct buf problems = {0};
    assert_int_equal(validate_arguments(&args, schema, "edit", &problems), PI_INVALID);
    if (!strstr(buf_cstr(&problems), line)) {
        fail_msg("\"%s\" is not in: %s", line, buf_cstr(&problems));
    }
    assert_non_null(strstr(buf_cstr(&problems), "Received:\n"));
    assert_non_null(strstr(buf_cstr(&problems), "\"edit\""));
    buf_finish(&problems);
    json_destroy(args);
    json_destroy(schema);
}

static void conversions(void **state)
{
    (void)state;
    assert_converts("{\"path\":\"a\",\"limit\":\" 5 \"}", "{\"path\":\"a\",\"limit\":5}");
    assert_converts("{\"path\":\"a\",\"ratio\":\"1.5\"}",
                    "{\"path\":\"a\",\"ratio\":1.5}");
    assert_converts("{\"path\":7}", "{\"path\":\"7\"}");
    assert_converts("{\"path\":true}", "{\"path\":\"true\"}");
    assert_converts("{\"path\":\"a\",\"all\":\"true\"}", "{\"path\":\"a\",\"all\":true}");
    assert_converts("{\"path\":\"a\",\"all\":0}", "{\"path\":\"a\",\"all\":false}");
    assert_converts("{\"path\":\"a\",\"x\":{\"y\":1}}",
                    "{\"x\":{\"y\":1},\"path\":\"a\"}");
    assert_converts("{\"path\":\"a\",\"either\":\"7\"}", "{\"path\":\"a\",\"either\":7}");
    assert_converts("{\"path\":\"a\",\"either\":\"q\"}",
                    "{\"path\":\"a\",\"either\":[\"q\"]}");
}

static void arrays_and_objects_may_come_as_strings_or_alone(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{\"path\":\"a\",\"edits\":\"[{\\\"oldText\\\":\\\"x\\\",\\\"newText\\\":"
        "\\\"y\\\"}]\"}",
        "{\"path\":\"a\",\"edits\":{\"oldText\":\"x\",\"newText\":\"y\"}}",
        "{\"path\":\"a\",\"edits\":[\"{\\\"oldText\\\":\\\"x\\\",\\\"newText\\\":"
        "\\\"y\\\"}\"]}",
        "{\"path\":\"a\",\"edits\":\"{\\\"oldText\\\":\\\"x\\\",\\\"newText\\\":"
        "\\\"y\\\"}\"}",
    };
    assert_converts(
        "{\"path\":\"a\",\"edits\":\"[{\\\"oldText\\\":\\\"x\ny\\\",\\\"newText\\\":"
        "\\\"\\\\d\\\"}]\"}",
        "{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\\ny\",\"newText\":\"\\\\d\"}]}");
    assert_problem("{\"path\":\"a\",\"edits\":\"[{oldText: 1\"}",
                   "- edits: must be an array, but is the string");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_converts(
            forms[i],
            "{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\",\"newText\":\"y\"}]}");
    }
}

static void null_means_absent_for_optional_only(void **state)
{
    (void)state;
    assert_converts("{\"path\":\"a\",\"limit\":null}", "{\"path\":\"a\"}");
    assert_converts("{\"path\":\"a\",\"note\":null}", "{\"path\":\"a\",\"note\":null}");
    assert_problem("{\"path\":null}", "- path: must be a string, but is null");
}

static void problems_say_where_and_what(void **state)
{
    (void)state;
    assert_problem("{}", "- path: required, but missing");
    assert_problem("{\"path\":\"a\",\"limit\":\"many\"}",
                   "- limit: must be an integer, but is the string \"many\"");
    assert_problem("{\"path\":\"a\",\"limit\":1.5}",
                   "- limit: must be an integer, but is the number 1.5");
    assert_problem("{\"path\":\"a\",\"limit\":0}",
                   "- limit: must be at least 1, but is 0");
    assert_problem("{\"path\":\"a\",\"limit\":1000}", "- limit: must be at most 100");
    assert_problem("{\"path\":[\"a\"]}", "- path: must be a string, but is an array");
    assert_problem("{\"path\":\"a\",\"mode\":\"c\"}",
                   "- mode: must be one of \"a\", \"b\", 3, but is the string \"c\"");
    assert_problem("{\"path\":\"a\",\"edits\":[]}",
                   "- edits: needs at least 1 item, but has 0");
    assert_problem(
        "{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\",\"new_text\":\"y\"}]}",
        "- edits.0.newText: required, but missing\n- edits.0.new_text: unknown; "
        "the known ones here are oldText, newText");
    assert_problem("{\"path\":\"a\",\"either\":{}}",
                   "- either: fits none of the allowed forms");
    assert_problem("{\"path\":\"a\",\"ratio\":\"1e999\"}", "- ratio: must be a number");
}

static void a_union_at_the_top(void **state)
{
    (void)state;
    struct json *schema =
        parsed("{\"anyOf\":[{\"required\":[\"x\"]},{\"properties\":{\"n\":"
               "{\"type\":\"integer\"}},\"required\":[\"n\"]}]}");
    struct json *args = parsed("{\"n\":\"4\"}");
    struct buf problems = {0};
    assert_int_equal(validate_arguments(&args, schema, "t", &problems), PI_OK);
    assert_true(json_get_num(args, "n", 0) == 4);
    json_destroy(args);
    json_destroy(schema);
}

static void what_was_received_is_shortened(void **state)
{
    (void)state;
    struct json *schema = parsed(edit_schema), *args = json_new_object();
    struct buf big = {0}, problems = {0};
    for (int i = 0; i < 100000; i++) {
        buf_adds(&big, "\xC3\xA9");
    }
    assert_true(json_set(args, "content", json_new_string(buf_sv(&big))));
    assert_true(json_set(args, "list", json_new_array()));
    for (int i = 0; i < 5000; i++) {
        assert_true(json_push(json_get(args, "list"), json_new_int(i)));
    }
    assert_int_equal(validate_arguments(&args, schema, "write", &problems), PI_INVALID);
    assert_true(problems.len < 4000);
    assert_non_null(strstr(buf_cstr(&problems), "(and 199700 bytes more)"));
    buf_finish(&problems);
    buf_finish(&big);
    json_destroy(args);
    json_destroy(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_takes_objects),
        cmocka_unit_test(parse_mends_strings),
        cmocka_unit_test(parse_tells_mistakes_apart),
        cmocka_unit_test(parse_tells_what_it_repaired),
        cmocka_unit_test(parse_names_the_argument_with_a_nul),
        cmocka_unit_test(every_beginning_is_called_cut_off),
        cmocka_unit_test(conversions),
        cmocka_unit_test(arrays_and_objects_may_come_as_strings_or_alone),
        cmocka_unit_test(null_means_absent_for_optional_only),
        cmocka_unit_test(problems_say_where_and_what),
        cmocka_unit_test(a_union_at_the_top),
        cmocka_unit_test(what_was_received_is_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
