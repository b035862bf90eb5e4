#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/model.h"

static void levels_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < THINKING_LEVELS; i++) {
        enum thinking_level level;
        assert_true(
            thinking_level_parse(&level, thinking_level_name((enum thinking_level)i)));
        assert_int_equal(level, i);
    }
    enum thinking_level level;
    assert_false(thinking_level_parse(&level, "much"));
}

static void clamps_upward_then_downward(void **state)
{
    (void)state;
    struct model m = {.reasoning = false};
    assert_int_equal(model_clamp_thinking(&m, THINKING_HIGH), THINKING_OFF);
    m.reasoning = true;
    assert_int_equal(model_clamp_thinking(&m, THINKING_HIGH), THINKING_HIGH);
    assert_int_equal(model_clamp_thinking(&m, THINKING_XHIGH),
                     THINKING_HIGH); // not mapped
    m.thinking_values[THINKING_XHIGH] = "max";
    assert_int_equal(model_clamp_thinking(&m, THINKING_XHIGH), THINKING_XHIGH);
    m.thinking_unsupported[THINKING_OFF] = true;
    m.thinking_unsupported[THINKING_MINIMAL] = true;
    assert_int_equal(model_clamp_thinking(&m, THINKING_OFF), THINKING_LOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(clamps_upward_then_downward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
