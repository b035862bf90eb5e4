#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_writer.h"

static void writes_commas_and_keys(void **state)
{
    (void)state;
    struct buf out = {0};
    struct json_writer w = {.out = &out};
    struct json *tree = json_new_array();
    json_write_open(&w, NULL, '{');
    json_write_str(&w, "a\"", "x\n");
    json_write_str(&w, "none", NULL);
    json_write_text(&w, "t", sv_make("\xff\0", 2));
    json_write_open(&w, "list", '[');
    json_write_int(&w, NULL, INT64_MIN);
    json_write_bool(&w, NULL, true);
    json_write_open(&w, NULL, '{');
    json_write_close(&w, '}');
    json_write_bool(&w, NULL, false);
    json_write_close(&w, ']');
    json_write_tree(&w, "tree", tree);
    json_write_raw(&w, "raw", sv_of("12345678901234567890"));
    json_write_close(&w, '}');
    assert_string_equal(buf_cstr(&out),
                        "{\"a\\\"\":\"x\\n\",\"none\":\"\",\"t\":\"\xef\xbf\xbd\\u0000\","
                        "\"list\":[-9223372036854775808,true,{},false],\"tree\":[],"
                        "\"raw\":12345678901234567890}");
    json_destroy(tree);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_commas_and_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
