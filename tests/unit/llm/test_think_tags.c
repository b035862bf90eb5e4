#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm/think_tags.h"

static void expect(const char *text, const char *thinking, const char *answer)
{
    size_t n = strlen(text);
    for (size_t piece = 1; piece <= n; piece++) {
        struct think_tags t = {0};
        struct buf got_thinking = {0}, got_answer = {0};
        for (size_t i = 0; i < n; i += piece) {
            think_tags_feed(&t, sv_sub(sv_of(text), i, piece), &got_thinking,
                            &got_answer);
        }
        think_tags_end(&t, &got_thinking, &got_answer);
        assert_string_equal(buf_cstr(&got_thinking), thinking);
        assert_string_equal(buf_cstr(&got_answer), answer);
        buf_finish(&got_thinking);
        buf_finish(&got_answer);
        think_tags_finish(&t);
    }
}

static void tags_at_the_start_part_thinking_from_the_answer(void **state)
{
    (void)state;
    expect("<think>a</think>b", "a", "b");
    expect(" \n<think>\na < b <</think>\n\n b\n", "\na < b <", "b\n");
    expect("<think></think>b", "", "b");
    expect("<think>a</thin</think>", "a</thin", "");
}

static void other_text_is_left_alone(void **state)
{
    (void)state;
    expect("b", "", "b");
    expect("  b", "", "  b");
    expect("b <think>a</think>", "", "b <think>a</think>");
    expect("<thinker>", "", "<thinker>");
    expect("<Think>", "", "<Think>");
    expect("<think>a</think>b<think>c</think>", "a", "b<think>c</think>");
    expect(
        "                                                                     <think>",
        "",
        "                                                                     <think>");
}

static void the_answer_may_end_anywhere(void **state)
{
    (void)state;
    expect("<thi", "", "<thi");
    expect(" ", "", " ");
    expect("<think>a", "a", "");
    expect("<think>a</thi", "a</thi", "");
    expect("<think>a</think>  ", "a", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_at_the_start_part_thinking_from_the_answer),
        cmocka_unit_test(other_text_is_left_alone),
        cmocka_unit_test(the_answer_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
