#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/window.h"

struct bed {
    struct message *m;
    struct json *schema;
    struct tool_schema tool;
    struct llm_request request;
};

static void bed_init(struct bed *b, size_t bytes)
{
    *b = (struct bed){.m = message_create(ROLE_USER), .schema = json_new_object()};
    struct buf text = {0};
    for (size_t i = 0; i < bytes; i++) {
        buf_addc(&text, 'x');
    }
    assert_true(content_add_text(&b->m->content, buf_sv(&text)));
    buf_finish(&text);
    b->tool = (struct tool_schema){
        .name = "read", .description = "0123456789", .parameters = b->schema};
    b->request = (struct llm_request){.system_prompt = "12345678",
                                      .messages = &b->m,
                                      .messages_len = 1,
                                      .tools = &b->tool,
                                      .tools_len = 1};
}

static void bed_finish(struct bed *b)
{
    message_destroy(b->m);
    json_destroy(b->schema);
}

static void test_an_estimate(void **state)
{
    (void)state;
    struct bed b;
    bed_init(&b, 4000);
    struct block *image = content_add(&b.m->content, BLOCK_IMAGE);
    for (int i = 0; i < 100000; i++) {
        buf_addc(&image->text, 'A');
    }
    struct block *thinking = content_add(&b.m->content, BLOCK_THINKING);
    buf_adds(&thinking->text, "12345678");
    struct window_estimate e = window_estimate(&b.request);
    assert_int_equal(e.system_prompt, 2);
    assert_int_equal(e.tools, 4);
    assert_int_equal(e.messages, 2000); // an image does not count by its bytes
    assert_int_equal(e.total, 2006);
    bed_finish(&b);
}

static void test_a_request_that_fits_and_one_that_does_not(void **state)
{
    (void)state;
    struct bed b;
    struct pi_error err = {0};
    bed_init(&b, 4000);
    struct model m = {.id = "toy", .context_window = 1006};
    assert_int_equal(window_check(&m, &b.request, &err), PI_OK);
    m.context_window = 1005;
    assert_int_equal(window_check(&m, &b.request, &err), PI_LIMIT);
    assert_non_null(strstr(err.message, "window of toy: it takes at least 1006 tokens "
                                        "(messages 1000, tools 4, system prompt 2), the "
                                        "window holds 1005. Nothing was sent."));
    m.context_window = 0; // not known
    assert_int_equal(window_check(&m, &b.request, &err), PI_OK);
    bed_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_estimate),
        cmocka_unit_test(test_a_request_that_fits_and_one_that_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
