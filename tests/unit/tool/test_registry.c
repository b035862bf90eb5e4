#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tool/registry.h"

static struct pi_tool_definition named(const char *name)
{
    return (struct pi_tool_definition){
        .name = name, .description = name, .parameters = "{\"type\":\"object\"}"};
}

static const char *const builtin[] = {"read", "bash", "edit", "write", "grep"};

static struct pi_tool_definition definitions[8];
static const struct pi_tool_definition *pointers[8];

static void init(struct registry *r, size_t len)
{
    for (size_t i = 0; i < 5; i++) {
        definitions[i] = named(builtin[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        pointers[i] = &definitions[i];
    }
    assert_int_equal(registry_init(r, pointers, len, NULL), PI_OK);
}

static void assert_names(const struct registry *r, const char *expected)
{
    struct buf names = {0};
    registry_names(r, &names);
    assert_string_equal(buf_cstr(&names), expected);
    buf_finish(&names);
}

static void presets_leave_out_what_does_not_exist(void **state)
{
    (void)state;
    struct registry r;
    init(&r, 5);
    assert_names(&r, "");
    assert_int_equal(registry_set_active(&r, "coding", NULL), PI_OK);
    assert_names(&r, "read, bash, edit, write");
    assert_non_null(registry_find(&r, "bash"));
    assert_null(registry_find(&r, "grep"));
    assert_non_null(registry_find_any(&r, "grep"));
    assert_int_equal(registry_set_active(&r, "read-only", NULL), PI_OK);
    assert_names(&r, "read, grep");
    assert_int_equal(registry_set_active(&r, "all", NULL), PI_OK);
    assert_names(&r, "read, bash, edit, write, grep");
    registry_finish(&r);
    registry_finish(&r);
}

static void a_list_keeps_its_order_and_a_wrong_one_changes_nothing(void **state)
{
    (void)state;
    struct registry r;
    struct pi_error err = {0};
    init(&r, 5);
    assert_int_equal(registry_set_active(&r, " grep,read , grep,", NULL), PI_OK);
    assert_names(&r, "grep, read");
    assert_int_equal(registry_set_active(&r, "bash,Bash", &err), PI_INVALID);
    assert_non_null(strstr(err.message, "\"Bash\""));
    assert_non_null(strstr(err.message, "read, bash, edit, write, grep"));
    assert_names(&r, "grep, read");
    assert_int_equal(registry_set_active(&r, "", NULL), PI_OK);
    assert_names(&r, "");
    registry_finish(&r);
}

static void added_tools_are_active_except_in_read_only(void **state)
{
    (void)state;
    struct registry r;
    definitions[5] = named("deploy");
    definitions[5].source = TOOL_FACE;
    init(&r, 6);
    assert_int_equal(registry_set_active(&r, "coding", NULL), PI_OK);
    assert_names(&r, "read, bash, edit, write, deploy");
    assert_int_equal(registry_set_active(&r, "read-only", NULL), PI_OK);
    assert_names(&r, "read, grep");
    registry_finish(&r);
}

static void a_later_definition_replaces_an_earlier_one(void **state)
{
    (void)state;
    struct registry r;
    definitions[5] = named("read");
    definitions[5].description = "from the editor";
    init(&r, 6);
    assert_int_equal(r.len, 5);
    assert_string_equal(registry_find_any(&r, "read")->description, "from the editor");
    registry_finish(&r);
}

static void a_schema_that_is_no_object_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "{", "[]", "{} x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct registry r;
        struct pi_error err = {0};
        struct pi_tool_definition d = named("odd");
        const struct pi_tool_definition *one = &d;
        d.parameters = wrong[i];
        assert_int_equal(registry_init(&r, &one, 1, &err), PI_INVALID);
        assert_non_null(strstr(err.message, "odd"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_leave_out_what_does_not_exist),
        cmocka_unit_test(a_list_keeps_its_order_and_a_wrong_one_changes_nothing),
        cmocka_unit_test(added_tools_are_active_except_in_read_only),
        cmocka_unit_test(a_later_definition_replaces_an_earlier_one),
        cmocka_unit_test(a_schema_that_is_no_object_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
