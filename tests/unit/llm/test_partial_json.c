#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/partial_json.h"

static void assert_partial(struct sv text, const char *expected, bool whole)
{
    struct json *j = NULL;
    struct buf out = {0};
    bool complete = !whole;
    assert_int_equal(partial_json(&j, &complete, text, NULL), PI_OK);
    json_write(&out, j);
    assert_string_equal(buf_cstr(&out), expected);
    assert_int_equal(complete, whole);
    buf_finish(&out);
    json_destroy(j);
}

static void shows_what_has_arrived(void **state)
{
    (void)state;
    assert_partial(sv_of(""), "{}", false);
    assert_partial(sv_of("{\"pa"), "{}", false);
    assert_partial(sv_of("{\"path\":\"a/b"), "{\"path\":\"a/b\"}", false);
    assert_partial(sv_of("{\"path\":\"a\\"), "{\"path\":\"a\"}", false);
    assert_partial(sv_of("{\"path\":\"a\",\"edits\":[{\"oldText\":\"x"),
                   "{\"path\":\"a\",\"edits\":[{\"oldText\":\"x\"}]}", false);
    assert_partial(sv_of("{\"re\":\"\\d+"), "{\"re\":\"\\\\d+\"}", false);
    assert_partial(sv_of("{\"a\":1}"), "{\"a\":1}", true);
    assert_partial(sv_of("not json"), "{}", false);
    assert_partial(sv_of("{\"a\":1} x"), "{\"a\":1}", false);
}

// Every byte more shows the same text or more of it.
static void grows_byte_by_byte(void **state)
{
    (void)state;
    static const char text[] =
        "{\"content\":\"\\u00e9\xE2\x82\xAC\\n\\\\ \xF0\x9F\x98\x80 end\"}";
    size_t before = 0;
    for (size_t n = 0; n < sizeof text; n++) {
        struct json *j = NULL;
        bool complete;
        assert_int_equal(partial_json(&j, &complete, sv_make(text, n), NULL), PI_OK);
        const char *shown = json_get_str(j, "content");
        assert_true(!shown || !strstr(shown, "\xEF\xBF\xBD"));
        size_t len = shown ? strlen(shown) : 0;
        assert_true(len >= before);
        before = len;
        json_destroy(j);
    }
    assert_int_equal(before, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_has_arrived),
        cmocka_unit_test(grows_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
