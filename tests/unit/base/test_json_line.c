#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_line.h"
#include "base/json_relaxed.h"

static const char text[] = "\xEF\xBB\xBF// a comment with \"quotes\": {\n"
                           "{\n"
                           "  \"a\": 1, \"b\": [true, \"x:\\\"y\", // [1,2\n"
                           "    null,\n"
                           "    {\"c\" : -2.5e3\n"
                           "    , \"d\": {}}, ],\n"
                           "  \"e\":\n"
                           "    \"end\",\n"
                           "}\n";

static void test_each_value(void **state)
{
    (void)state;
    struct json *root = NULL;
    struct sv all = sv_of(text);
    assert_int_equal(json_parse_relaxed(&root, all, NULL, NULL), PI_OK);
    assert_int_equal(json_line(all, root, root), 2);
    assert_int_equal(json_line(all, root, json_get(root, "a")), 3);
    const struct json *b = json_get(root, "b");
    assert_int_equal(json_line(all, root, b), 3);
    assert_int_equal(json_line(all, root, json_first(b)), 3);
    const struct json *string = json_next(json_first(b));
    assert_int_equal(json_line(all, root, string), 3);
    assert_int_equal(json_line(all, root, json_next(string)), 4);
    const struct json *object = json_next(json_next(string));
    assert_int_equal(json_line(all, root, object), 5);
    assert_int_equal(json_line(all, root, json_get(object, "c")), 5);
    assert_int_equal(json_line(all, root, json_get(object, "d")), 6);
    assert_int_equal(json_line(all, root, json_get(root, "e")), 8);
    json_destroy(root);
}

static void test_a_strange_node_and_a_name_that_is_repeated(void **state)
{
    (void)state;
    struct json *root = NULL, *other = json_new_object();
    struct sv all = sv_of("{\"a\":1,\n\"a\":2}");
    assert_int_equal(json_parse_relaxed(&root, all, NULL, NULL), PI_OK);
    assert_int_equal(json_line(all, root, json_get(root, "a")), 2);
    assert_int_equal(json_line(all, root, other), 1);
    assert_int_equal(json_line(sv_of(NULL), root, root), 1);
    json_destroy(root);
    json_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_value),
        cmocka_unit_test(test_a_strange_node_and_a_name_that_is_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
