#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "session/entry_head.h"

static enum entry_head_result read_head(struct entry_head *out, const char *text)
{
    return entry_head_read(out, sv_of(text), false);
}

static void expect(const char *text, const char *type, const char *id, const char *parent)
{
    struct entry_head h;
    assert_int_equal(read_head(&h, text), ENTRY_HEAD_OK);
    assert_true(sv_eqs(h.type, type) && sv_eqs(h.id, id) && sv_eqs(h.parent, parent));
}

#define FULL                                                                             \
    "{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"b2\",\"timestamp\":\"t\","       \
    "\"message\":{\"role\":\"user\"}}"

static void test_plain(void **state)
{
    (void)state;
    struct entry_head h;
    expect(FULL, "message", "a1", "b2");
    assert_int_equal(read_head(&h, FULL), ENTRY_HEAD_OK);
    assert_true(sv_eqs(h.timestamp, "t"));
    assert_true(h.parent_given);
    expect("{\"type\":\"x\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"t\"}", "x",
           "a", "");
    expect("{}", "", "", "");
    expect(" { \"id\" : \"a\" , \"type\" : \"x\" } ", "x", "a", "");
}

static void test_any_order_and_values(void **state)
{
    (void)state;
    expect("{\"message\":{\"id\":\"no\",\"a\":[1,{\"type\":\"no\"}],\"s\":\"}]\\\"{\"},"
           "\"n\":-1.5e3,\"t\":true,\"parentId\":\"b\",\"id\":\"a\",\"type\":\"x\"}",
           "x", "a", "b");
    // What is no string is not there.
    expect("{\"type\":7,\"id\":{\"id\":\"a\"},\"parentId\":[\"b\"]}", "", "", "");
    struct entry_head h;
    read_head(&h, "{\"id\":\"a\"}");
    assert_false(h.parent_given);
    assert_null(h.type.p);
}

static void test_escapes_need_a_parser(void **state)
{
    (void)state;
    struct entry_head h;
    assert_int_equal(read_head(&h, "{\"type\":\"a\\u0062\"}"), ENTRY_HEAD_PARSE);
    assert_int_equal(read_head(&h, "{\"ty\\u0070e\":\"a\"}"), ENTRY_HEAD_PARSE);
    expect("{\"text\":\"a\\u0062\\\"\",\"type\":\"x\",\"id\":\"a\",\"parentId\":\"b\"}",
           "x", "a", "b");
}

static void test_not_an_object(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "x",
        "[]",
        "\"type\"",
        "{",
        "{,}",
        "{\"a\"}",
        "{\"a\":1,",
        "{\"a\":1 \"b",
        "{type:1}",
        "{\"a\", \"b\":1}",
        "{\"a\":[}",
        "{\"a\":\"b}",
        "{\"a\":\"b\"\"c\":1}",
        "{1:2}",
        "{\"type\":\"x\"]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct entry_head h;
        if (read_head(&h, texts[i]) != ENTRY_HEAD_BAD) {
            fail_msg("%s", texts[i]);
        }
    }
}

// Cut at every byte: as the beginning of a longer line it is never bad, as the whole line
// always, unless all was read before.
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    const size_t enough =
        strlen("{\"type\":\"message\",\"id\":\"a1\",\"parentId\":\"b2\","
               "\"timestamp\":\"t\"");
    for (size_t n = 0; n < strlen(FULL); n++) {
        struct entry_head h;
        char *copy = malloc(n + 1);
        memcpy(copy, FULL, n);
        struct sv text = sv_make(copy, n);
        enum entry_head_result expected = n >= enough ? ENTRY_HEAD_OK : ENTRY_HEAD_PARSE;
        enum entry_head_result as_part = entry_head_read(&h, text, true);
        assert_int_equal(as_part, n == 0 ? ENTRY_HEAD_BAD : expected);
        expected = n >= enough ? ENTRY_HEAD_OK : ENTRY_HEAD_BAD;
        assert_int_equal(entry_head_read(&h, text, false), expected);
        // What was read before the end counts.
        assert_true(!h.type.p || sv_eqs(h.type, "message"));
        assert_true(!h.id.p || sv_eqs(h.id, "a1"));
        assert_int_equal(h.id.p != NULL,
                         n >= strlen("{\"type\":\"message\",\"id\":\"a1\""));
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_any_order_and_values),
        cmocka_unit_test(test_escapes_need_a_parser),
        cmocka_unit_test(test_not_an_object),
        cmocka_unit_test(test_cut_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
