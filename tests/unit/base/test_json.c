#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static struct json *parse(const char *text, unsigned *repairs)
{
    struct json *j = NULL;
    struct pi_error err = {0};
    enum pi_status status = json_parse(&j, sv_of(text), repairs, &err);
    if (status != PI_OK) {
        print_error("%s: %s\n", text, err.message);
    }
    assert_int_equal(status, PI_OK);
    return j;
}

static void check_written(struct json *j, const char *want)
{
    struct buf b = {0};
    json_write(&b, j);
    assert_true(buf_ok(&b));
    assert_string_equal(buf_cstr(&b), want);
    buf_finish(&b);
    json_destroy(j);
}

static void check_round(const char *text, const char *want)
{
    check_written(parse(text, NULL), want);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round(
        " { \"a\" : [ 1 , -2.5e3 , true , false , null , \"x\" ] , \"b\" : { } } ",
        "{\"a\":[1,-2500,true,false,null,\"x\"],\"b\":{}}");
    check_round("\xef\xbb\xbf[]", "[]");
    check_round("0", "0");
    check_round("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\ude00\"",
                "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xc3\xa9\xf0\x9f\x98\x80\"");
    check_round("\"raw\nnewline\x01\x7f\"", "\"raw\\nnewline\\u0001\x7f\"");
}

static void test_numbers(void **state)
{
    (void)state;
    check_round("1000000000000000", "1000000000000000");
    check_round("9007199254740992", "9007199254740992");
    check_round("[0.1,1e300,1e400,-0.5,1.7976931348623157e308]",
                "[0.1,1e+300,null,-0.5,1.7976931348623157e+308]");
    check_written(json_new_int(INT64_MAX), "9223372036854775807");
    check_written(json_new_int(INT64_MIN), "-9223372036854775808");
    check_written(json_new_int(-7), "-7");
    check_written(json_new_num((double)NAN), "null");
    struct json *big = json_new_int(INT64_MAX);
    assert_int_equal(json_type(big), JSON_NUMBER);
    assert_true(json_num(big, 0) > 9.2e18);
    check_written(json_copy(big), "9223372036854775807");
    json_destroy(big);
}

static void test_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",       " ",     "{",       "[1,]",      "{\"a\":1,}",  "{\"a\"}",
        "{a:1}",  "[1 2]", "1 2",     "[]]",       "tru",         "nulll",
        "007",    "1.",    ".5",      "+1",        "-",           "1e",
        "0x10",   "\"a",   "\"\\x\"", "\"\\u12\"", "\"\\uzzzz\"", "{\"a\":}",
        "[\"a\\", "'a'",   "NaN",     "[1,,2]",    "{\"a\" 1}",   "\"a\"\"b\"",
        "{1:2}",  "\xff",  "[}",      "{]",        "-Infinity",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct json *j = NULL;
        struct pi_error err = {0};
        enum pi_status status = json_parse(&j, sv_of(bad[i]), NULL, &err);
        if (status != PI_INVALID) {
            print_error("not rejected: %s\n", bad[i]);
        }
        assert_int_equal(status, PI_INVALID);
        assert_null(j);
        assert_non_null(strstr(err.message, "byte "));
    }
}

static void test_nul_byte_is_an_error(void **state)
{
    (void)state;
    struct json *j = NULL;
    assert_int_equal(json_parse(&j, sv_make("[1]\0", 4), NULL, NULL), PI_INVALID);
    assert_int_equal(json_parse(&j, sv_make("\"a\0b\"", 5), NULL, NULL), PI_INVALID);
    assert_int_equal(json_parse(&j, sv_make("\0", 1), NULL, NULL), PI_INVALID);
}

static void test_error_names_the_offset(void **state)
{
    (void)state;
    struct json *j = NULL;
    struct pi_error err = {0};
    // The repaired byte in front must not move the offset.
    assert_int_equal(json_parse(&j, sv_of("[\"\xff\",?]"), NULL, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "byte 5"));
    assert_int_equal(json_parse(&j, sv_of("{\"a\":1 \"b\":2}"), NULL, &err), PI_INVALID);
    assert_string_equal(err.message,
                        "Not valid JSON: no ',' or '}' after a member of an object "
                        "(byte 7)");
}

static void check_repair(const char *text, unsigned bits, const char *want)
{
    unsigned repairs = 99;
    struct json *j = parse(text, &repairs);
    assert_int_equal(repairs, bits);
    check_written(j, want);
}

#define FFFD "\xef\xbf\xbd"

static void test_repairs(void **state)
{
    (void)state;
    check_repair("\"ok\"", 0, "\"ok\"");
    check_repair("\"a\\u0000b\"", JSON_HAD_NUL, "\"a" FFFD "b\"");
    check_repair("{\"a\\u0000\":1}", JSON_HAD_NUL, "{\"a" FFFD "\":1}");
    check_repair("\"\\ud83d\"", JSON_HAD_SURROGATE, "\"" FFFD "\"");
    check_repair("\"\\ud83dx\"", JSON_HAD_SURROGATE, "\"" FFFD "x\"");
    check_repair("\"\\uDE00\\ud83d\\uD83D\\ude00\"", JSON_HAD_SURROGATE,
                 "\"" FFFD FFFD "\xf0\x9f\x98\x80\"");
    check_repair("\"\\ud83d\\u0041\"", JSON_HAD_SURROGATE, "\"" FFFD "A\"");
    check_repair("\"\\\\ud83d\"", 0, "\"\\\\ud83d\"");
    check_repair("\"a\xff\xe2\x82z\xed\xa0\x80\"", JSON_HAD_BAD_UTF8,
                 "\"a" FFFD FFFD "z" FFFD FFFD FFFD "\"");
    check_repair("[\"\xc3\",\"\\u0000\"]", JSON_HAD_BAD_UTF8 | JSON_HAD_NUL,
                 "[\"" FFFD "\",\"" FFFD "\"]");
}

static enum pi_status parse_nested(size_t depth)
{
    struct buf b = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_adds(&b, i % 2 ? "[" : "{\"a\":");
    }
    buf_adds(&b, "0");
    for (size_t i = depth; i-- > 0;) {
        buf_addc(&b, i % 2 ? ']' : '}');
    }
    struct json *j = NULL;
    enum pi_status status = json_parse(&j, buf_sv(&b), NULL, NULL);
    json_destroy(j);
    buf_finish(&b);
    return status;
}

static void test_depth(void **state)
{
    (void)state;
    assert_int_equal(parse_nested(512), PI_OK);
    assert_int_equal(parse_nested(513), PI_INVALID);
    assert_int_equal(parse_nested(100000), PI_INVALID);
}

static void test_looking(void **state)
{
    (void)state;
    struct json *j =
        parse("{\"a\":1,\"A\":2,\"a\":\"x\",\"n\":2.5,\"t\":true,\"l\":[1,2,3]}", NULL);
    assert_string_equal(json_get_str(j, "a"), "x"); // the last one, and not "A"
    assert_null(json_get_str(j, "n"));
    assert_null(json_get(j, "zz"));
    assert_null(json_get(NULL, "a"));
    assert_null(json_get(json_get(j, "l"), "a"));
    assert_true(json_get_num(j, "n", 0) == 2.5);
    assert_true(json_get_num(j, "t", 7) == 7);
    assert_true(json_get_bool(j, "t", false));
    assert_true(json_get_bool(j, "n", true));
    assert_int_equal(json_len(json_get(j, "l")), 3);
    assert_int_equal(json_len(NULL), 0);
    assert_string_equal(json_key(json_first(j)), "a");
    assert_int_equal(json_type(NULL), JSON_NONE);
    assert_int_equal(json_type(json_get(j, "l")), JSON_ARRAY);
    assert_null(json_next(json_next(json_next(json_first(json_get(j, "l"))))));
    json_destroy(j);
}

static void test_building(void **state)
{
    (void)state;
    struct json *o = json_new_object();
    struct json *list = json_new_array();
    assert_true(json_push(list, json_new_null()));
    assert_true(json_push(list, json_new_bool(true)));
    assert_true(json_set_str(o, "s", "t"));
    assert_true(json_set(o, "l", list));
    assert_true(json_set_int(o, "i", 5));
    assert_true(json_set_bool(o, "s", false)); // replaces, keeps the place
    check_written(o, "{\"s\":false,\"l\":[null,true],\"i\":5}");
}

static void test_building_fails_politely(void **state)
{
    (void)state;
    struct json *o = json_new_object();
    assert_false(json_set(o, "a", NULL));
    assert_false(json_set(NULL, "a", json_new_null()));
    assert_false(json_push(o, json_new_null()));
    assert_false(json_push(NULL, json_new_null()));
    assert_false(json_push(o, NULL));
    check_written(o, "{}");
    json_destroy(NULL);
}

static void test_new_string_repairs(void **state)
{
    (void)state;
    struct json *j = json_new_string(sv_make("a\0b\xff", 4));
    assert_string_equal(json_str(j), "a" FFFD "b" FFFD);
    json_destroy(j);
    check_written(json_new_string(sv_make(NULL, 0)), "\"\"");
}

static void test_remove_takes_repeated_keys_along(void **state)
{
    (void)state;
    struct json *j = parse("{\"a\":1,\"b\":2,\"a\":3}", NULL);
    struct json *a = json_remove(j, "a");
    assert_true(json_num(a, 0) == 3);
    json_destroy(a);
    assert_null(json_remove(j, "a"));
    check_written(j, "{\"b\":2}");
}

static void test_replace_with_repeated_keys(void **state)
{
    (void)state;
    struct json *j = parse("{\"a\":1,\"a\":3}", NULL);
    assert_true(json_set_int(j, "a", 4));
    assert_true(json_get_num(j, "a", 0) == 4);
    json_destroy(j);
}

static void test_write_string(void **state)
{
    (void)state;
    struct buf b = {0};
    json_write_string(&b, sv_make("q\"\\\0\x1f\xff\xe2\x80\xa8", 9));
    assert_string_equal(buf_cstr(&b), "\"q\\\"\\\\\\u0000\\u001f" FFFD "\xe2\x80\xa8\"");
    buf_clear(&b);
    json_write_string(&b, sv_make(NULL, 0));
    assert_string_equal(buf_cstr(&b), "\"\"");
    buf_finish(&b);
}

static void test_pretty(void **state)
{
    (void)state;
    struct json *j = parse("{\"a\":[1,{\"b\":[]}],\"c\":{}}", NULL);
    struct buf b = {0};
    json_write_pretty(&b, j);
    assert_string_equal(buf_cstr(&b), "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n"
                                      "    }\n  ],\n  \"c\": {}\n}");
    buf_finish(&b);
    json_destroy(j);
}

static void test_large_string(void **state)
{
    (void)state;
    size_t n = 5 * 1000 * 1000;
    char *text = malloc(n);
    memset(text, '\n', n);
    struct json *j = json_new_string(sv_make(text, n));
    struct buf b = {0};
    json_write(&b, j);
    assert_int_equal(b.len, 2 * n + 2);
    struct json *back = NULL;
    assert_int_equal(json_parse(&back, buf_sv(&b), NULL, NULL), PI_OK);
    assert_int_equal(strlen(json_str(back)), n);
    json_destroy(back);
    json_destroy(j);
    buf_finish(&b);
    free(text);
}

// Every cut of a text must be refused, and nothing may be read behind its end.
static void test_every_prefix(void **state)
{
    (void)state;
    const char *text =
        "{\"k\":[1.5e-3,true,\"\\ud83d\\ude00\\u0000\xf0\x9f\x98\x80\",null]}";
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        char *copy = malloc(i + 1);
        memcpy(copy, text, i);
        struct json *j = NULL;
        assert_int_equal(json_parse(&j, sv_make(copy, i), NULL, NULL), PI_INVALID);
        free(copy);
    }
    json_destroy(parse(text, NULL));
}

// Programs around the library may set a locale whose decimal point is no dot, in some
// even one of two bytes.
static void check_in_locale(const char *name, const char *command)
{
    if (system(command) != 0 || !setlocale(LC_NUMERIC, name)) {
        setlocale(LC_NUMERIC, "C");
        skip();
    }
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_not_equal(half, "0.5");
    check_round("[0.5,1.25e-7,-1.5e300,3]", "[0.5,1.25e-07,-1.5e+300,3]");
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_not_equal(half, "0.5"); // it is still the locale of the program
    setlocale(LC_NUMERIC, "C");
}

static void test_decimal_comma(void **state)
{
    (void)state;
    check_in_locale("de_DE.UTF-8",
                    "localedef -i de_DE -f UTF-8 $LOCPATH/de_DE.UTF-8 2>&1");
}

static void test_decimal_point_of_two_bytes(void **state)
{
    (void)state;
    check_in_locale("ps_AF.UTF-8",
                    "localedef -i ps_AF -f UTF-8 $LOCPATH/ps_AF.UTF-8 2>&1");
}

static int make_locale_folder(void **state)
{
    char name[] = "/tmp/pi-test-json-XXXXXX";
    char *folder = mkdtemp(name);
    *state = folder ? strdup(folder) : NULL;
    return *state ? setenv("LOCPATH", *state, 1) : -1;
}

static int remove_locale_folder(void **state)
{
    free(*state);
    return system("rm -rf \"$LOCPATH\"") == 0 ? unsetenv("LOCPATH") : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_nul_byte_is_an_error),
        cmocka_unit_test(test_error_names_the_offset),
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_looking),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_building_fails_politely),
        cmocka_unit_test(test_new_string_repairs),
        cmocka_unit_test(test_remove_takes_repeated_keys_along),
        cmocka_unit_test(test_replace_with_repeated_keys),
        cmocka_unit_test(test_write_string),
        cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_large_string),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test_setup_teardown(test_decimal_comma, make_locale_folder,
                                        remove_locale_folder),
        cmocka_unit_test_setup_teardown(test_decimal_point_of_two_bytes,
                                        make_locale_folder, remove_locale_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
