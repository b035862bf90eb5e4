#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/json_prefix.h"

static void assert_closed(const char *text, const char *expected)
{
    struct json_prefix scan = {0};
    struct buf out = {0};
    json_prefix_feed(&scan, sv_of(text));
    json_prefix_close(&scan, sv_of(text), &out);
    assert_string_equal(buf_cstr(&out), expected);
    buf_finish(&out);
}

static void closes_what_is_open(void **state)
{
    (void)state;
    assert_closed("", "");
    assert_closed("{", "{}");
    assert_closed("{\"a", "{}");
    assert_closed("{\"a\"", "{}");
    assert_closed("{\"a\":", "{}");
    assert_closed("{\"a\":\"", "{\"a\":\"\"}");
    assert_closed("{\"a\":\"x\\", "{\"a\":\"x\"}");
    assert_closed("{\"a\":\"x\\u00", "{\"a\":\"x\"}");
    assert_closed("{\"a\":\"x\\u00e9", "{\"a\":\"x\\u00e9\"}");
    assert_closed("{\"a\":\"x\xE2\x82", "{\"a\":\"x\"}");
    assert_closed("{\"a\":\"x\xE2\x82\xAC", "{\"a\":\"x\xE2\x82\xAC\"}");
    assert_closed("{\"a\":1,", "{\"a\":1}");
    assert_closed("{\"a\":12", "{\"a\":12}");
    assert_closed("{\"a\":1,\"b\":-", "{\"a\":1}");
    assert_closed("{\"a\":1.", "{\"a\":1}");
    assert_closed("{\"a\":[1,tru", "{\"a\":[1]}");
    assert_closed("{\"a\":[1,{\"b\":[\"c\"", "{\"a\":[1,{\"b\":[\"c\"]}]}");
    assert_closed("{\"a\":1}}", "{\"a\":1}");
    assert_closed("{\"a\":1,x", "{\"a\":1}");
}

static const char sample[] =
    "{\"a\\\"b\":\"\\u00e9\xE2\x82\xAC\\n\",\"n\":[-1.5e+3, 0,true,"
    "false,null,[],{}],\"o\":{\"k\":[[{\"z\":\"\"}]]}}";

static void every_prefix_closes_to_json(void **state)
{
    (void)state;
    struct json_prefix bytewise = {0};
    for (size_t n = 1; n < sizeof sample; n++) {
        struct json_prefix whole = {0};
        struct buf out = {0};
        struct json *j = NULL;
        assert_true(json_prefix_feed(&whole, sv_make(sample, n)));
        assert_true(json_prefix_feed(&bytewise, sv_make(sample + n - 1, 1)));
        assert_int_equal(whole.safe, bytewise.safe);
        assert_int_equal(whole.edge, bytewise.edge);
        assert_int_equal(json_prefix_complete(&whole), n == sizeof sample - 1);
        json_prefix_close(&whole, sv_make(sample, n), &out);
        assert_int_equal(json_parse(&j, buf_sv(&out), NULL, NULL), PI_OK);
        json_destroy(j);
        buf_finish(&out);
    }
}

static void names_the_first_wrong_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {
        {"x", 0},    {"{,", 1},        {"{\"a\" 1", 5}, {"[1,]", 3},
        {"[1 2", 3}, {"{\"a\":1]", 6}, {"nulx", 3},     {"{} x", 3},
        {"[-]", 2},  {"]", 0},         {"[1}", 2},      {"{\"a\":}", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_prefix scan = {0};
        assert_false(json_prefix_feed(&scan, sv_of(cases[i].text)));
        assert_true(scan.bad);
        assert_int_equal(scan.offset, cases[i].offset);
        assert_false(json_prefix_complete(&scan));
        assert_false(json_prefix_feed(&scan, sv_of("1")));
    }
}

static void depth_has_an_end(void **state)
{
    (void)state;
    struct json_prefix scan = {0};
    char deep[JSON_PREFIX_DEPTH + 1];
    memset(deep, '[', sizeof deep);
    assert_false(json_prefix_feed(&scan, sv_make(deep, sizeof deep)));
    assert_int_equal(scan.offset, JSON_PREFIX_DEPTH);
    struct buf out = {0};
    json_prefix_close(&scan, sv_make(deep, sizeof deep), &out);
    assert_int_equal(out.len, 2 * JSON_PREFIX_DEPTH);
    buf_finish(&out);
}

static void whole_values(void **state)
{
    (void)state;
    static const char *const whole[] = {"{}",    " [1] ",         "12", "\"a\"", "null",
                                        "1e5\n", "\xEF\xBB\xBF{}"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct json_prefix scan = {0};
        assert_true(json_prefix_feed(&scan, sv_of(whole[i])));
        assert_true(json_prefix_complete(&scan));
    }
}

static void repair(void **state)
{
    (void)state;
    struct buf out = {0};
    json_prefix_repair(&out, sv_of("{\"a\":\"\\d\\n\\u00e9\\u00x\tb\\\"\\\\\", \n\"b\\"));
    assert_string_equal(buf_cstr(&out),
                        "{\"a\":\"\\\\d\\n\\u00e9\\\\u00x\\u0009b\\\"\\\\\", "
                        "\n\"b\\\\");
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_what_is_open),
        cmocka_unit_test(every_prefix_closes_to_json),
        cmocka_unit_test(names_the_first_wrong_byte),
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(whole_values),
        cmocka_unit_test(repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
