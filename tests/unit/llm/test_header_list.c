#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/header_list.h"

static void expect(const char *format, const char *own, const char *want)
{
    struct json *j = NULL;
    struct header_list l;
    struct buf got = {0};
    if (own) {
        assert_int_equal(json_parse(&j, sv_of(own), NULL, NULL), PI_OK);
    }
    assert_true(header_list_build(&l, sv_of(format), j));
    for (size_t i = 0; l.lines[i]; i++) {
        buf_addf(&got, "[%s]", l.lines[i]);
    }
    assert_string_equal(buf_cstr(&got), want);
    buf_finish(&got);
    header_list_finish(&l);
    json_destroy(j);
}

static void the_models_own_headers_win(void **state)
{
    (void)state;
    expect("", NULL, "");
    expect("A: 1\nB: 2", NULL, "[A: 1][B: 2]");
    expect("A: 1\n\nB: 2\n", "{}", "[A: 1][B: 2]");
    expect("X-Key: 1\nB: 2", "{\"x-key\":\"3\",\"C\":\"4\"}", "[B: 2][x-key: 3][C: 4]");
    expect("Ab: 1\nA: 2", "{\"a\":\"3\"}", "[Ab: 1][a: 3]");
    expect("A: 1", "{\"a\":7,\"b\":null}", "[A: 1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_own_headers_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
