#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/estimate.h"
#include "wire_fixture.h"

static void counts_what_the_server_has_not_counted(void **state)
{
    (void)state;
    struct talk talk = {.model = {.id = "m", .api = "a", .provider = "p"}};
    talk.system_prompt = "12345678";
    talk_user(&talk, "1234");
    assert_int_equal(estimate_tokens(talk_request(&talk)), 3);
    assert_int_equal(estimate_at_most(talk_request(&talk)), 4 + 64);
    talk_tool(&talk, "read"); // with "does it" and null
    assert_int_equal(estimate_tokens(talk_request(&talk)), (12 + 15) / 4);
    struct message *m = talk_answer(&talk);
    m->usage.total = 1000;
    talk_text(m, "not counted again");
    talk_image(talk_add(&talk, ROLE_USER), "image/png", "x");
    talk_user(&talk, "12345678");
    assert_int_equal(estimate_tokens(talk_request(&talk)), 1000 + 1600 + 2);
    m = talk_answer(&talk); // one that failed says nothing
    m->usage.total = 5;
    m->stop_reason = STOP_ABORTED;
    talk_user(&talk, "12345678");
    assert_int_equal(estimate_tokens(talk_request(&talk)), 1000 + 1600 + 4);
    talk_finish(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_the_server_has_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
