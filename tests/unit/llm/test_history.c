#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/history.h"
#include "wire_fixture.h"

static struct talk talk = {
    .model = {.id = "m", .api = "api", .provider = "p", .input_image = true},
};
static struct history_target target = {.model = &talk.model, .ids = CALL_IDS_ANTHROPIC};

#define PNG                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                      \
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

static int start(void **state)
{
    (void)state;
    talk_finish(&talk);
    talk.tools_len = 0;
    talk_tool(&talk, "read");
    talk.model.input_image = true;
    target = (struct history_target){.model = &talk.model, .ids = CALL_IDS_ANTHROPIC};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    talk_finish(&talk);
    return 0;
}

static void describe(struct buf *out, const struct history_message *m)
{
    static const char *const roles[] = {"user", "answer", "result"};
    buf_addf(out, "%s", roles[m->role]);
    if (m->role == ROLE_TOOL_RESULT) {
        buf_addf(out, "(%s%s)", m->tool_call_id, m->is_error ? ",error" : "");
    }
    buf_addc(out, '[');
    for (size_t i = 0; i < m->len; i++) {
        const struct history_block *b = &m->blocks[i];
        buf_adds(out, i > 0 ? " " : "");
        if (b->type == BLOCK_TOOL_CALL) {
            buf_addf(out, "%s %s ", b->id, b->name);
        } else if (b->type == BLOCK_THINKING) {
            buf_addf(out, "thinking %s ", b->signature ? b->signature : "-");
        } else if (b->type == BLOCK_IMAGE) {
            buf_addf(out, "%s ", b->mime_type);
        }
        buf_addsv(out, b->type == BLOCK_IMAGE ? sv_of("...") : b->text);
    }
    buf_adds(out, "]\n");
}

static void expect(const char *want)
{
    struct history h;
    struct buf got = {0};
    struct pi_error err = {0};
    if (history_build(&h, talk_request(&talk), &target, &err)) {
        buf_addf(&got, "%s", err.message);
    }
    for (size_t i = 0; i < h.len; i++) {
        describe(&got, &h.messages[i]);
    }
    if (strcmp(buf_cstr(&got), want) != 0) {
        fail_msg("the history is\n%sand not\n%s", buf_cstr(&got), want);
    }
    buf_finish(&got);
    history_finish(&h);
}

/* -- answers and results -- */

static void failed_answers_are_left_out_with_their_results(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_text(m, "half");
    talk_call(m, "t", "read", "{}");
    m->stop_reason = STOP_ERROR;
    talk_result(&talk, "t", "not run");
    m = talk_answer(&talk);
    talk_text(m, "half");
    m->stop_reason = STOP_ABORTED;
    talk_user(&talk, "b");
    expect("user[a b]\n");
}

static void each_call_gets_one_result_in_order(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "t1", "read", "{}");
    talk_call(m, "t2", "read", "{}");
    talk_call(m, "t3", "read", "{}");
    talk_result(&talk, "t3", "three");
    talk_user(&talk, "b");
    talk_result(&talk, "t1", "one");
    talk_result(&talk, "t1", "one again");
    talk_result(&talk, "nobody's", "x");
    talk_text(talk_answer(&talk), "c");
    talk_result(&talk, "t2", "too late");
    talk_user(&talk, "d");
    expect("user[a]\n"
           "answer[t1 read {} t2 read {} t3 read {}]\n"
           "result(t1)[one]\n"
           "result(t2,error)[No result: the call was interrupted.]\n"
           "result(t3)[three]\n"
           "user[b]\n"
           "answer[c]\n"
           "user[d]\n");
}

static void a_conversation_may_end_in_a_call(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "t", "read", "{}");
    expect("user[a]\nanswer[t read {}]\n"
           "result(t,error)[No result: the call was interrupted.]\n");
}

static void ids_are_unique(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "t", "read", "{}");
    talk_call(m, "t", "read", "{\"n\":2}");
    talk_result(&talk, "t", "one");
    talk_result(&talk, "t", "two");
    talk_call(talk_answer(&talk), "t", "read", "{}");
    talk_result(&talk, "t", "three");
    expect("user[a]\nanswer[t read {} t_2 read {\"n\":2}]\nresult(t)[one]\n"
           "result(t_2)[two]\nanswer[t_3 read {}]\nresult(t_3)[three]\n");
}

static void ids_may_be_missing(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), NULL, "read", "{}");
    talk_result(&talk, "", "one");
    expect("user[a]\nanswer[call read {}]\nresult(call)[one]\n");
}

static void names_have_legal_letters(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "1", "functions.re ad", "{}");
    talk_call(m, "2", "", "{}");
    talk_call(m, "3", NULL, "{}");
    talk_call(m, "4",
              "1234567890123456789012345678901234567890123456789012345678901234567",
              "{}");
    for (int i = 1; i <= 4; i++) {
        char id[2] = {(char)('0' + i), 0};
        talk_result(&talk, id, "x");
    }
    expect("user[a]\nanswer[1 functions_re_ad {} 2 unknown {} 3 unknown {} 4 "
           "1234567890123456789012345678901234567890123456789012345678901234 {}]\n"
           "result(1)[x]\nresult(2)[x]\nresult(3)[x]\nresult(4)[x]\n");
}

static void arguments_are_one_object(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"n\":12345678901234567890}", "{\"n\":12345678901234567890}"},
        {"{\"a\":\"half", "{}"},
        {"", "{}"},
        {"[1]", "{}"},
        {"{}{}", "{}"},
        {"{\"a\":\"x\ny\"}", "{\"a\":\"x\\u000ay\"}"},
        {"{\"a\":\"\\ud800\"}", "{\"a\":\"\\ufffd\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[200];
        start(NULL);
        talk_user(&talk, "a");
        talk_call(talk_answer(&talk), "t", "read", rows[i][0]);
        talk_result(&talk, "t", "r");
        snprintf(want, sizeof want, "user[a]\nanswer[t read %s]\nresult(t)[r]\n",
                 rows[i][1]);
        expect(want);
    }
}

static void a_result_without_output_says_so(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "t", "read", "{}");
    talk_result(&talk, "t", " \n\t");
    talk_call(talk_answer(&talk), "u", "read", "{}");
    talk_result(&talk, "u", NULL);
    expect("user[a]\nanswer[t read {}]\nresult(t)[(no output)]\n"
           "answer[u read {}]\nresult(u)[(no output)]\n");
}

static void the_calls_of_an_answer_stand_last(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_text(m, "one");
    talk_call(m, "t", "read", "{}");
    talk_text(m, "two");
    talk_thinking(m, "hm", "S");
    talk_call(m, "u", "read", "{}");
    talk_result(&talk, "t", "r");
    talk_result(&talk, "u", "s");
    expect("user[a]\nanswer[one two thinking S hm t read {} u read {}]\nresult(t)[r]\n"
           "result(u)[s]\n");
}

/* -- texts -- */

static void no_text_is_blank(void **state)
{
    (void)state;
    talk_user(&talk, " \n");
    talk_user(&talk, "a");
    talk_text(talk_answer(&talk), "");
    talk_text(talk_answer(&talk), " \xc2\xa0\xe3\x80\x80\xe2\x80\xa8");
    talk_user(&talk, "b");
    expect("user[a b]\n");
}

static void texts_are_utf8_without_nul(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    struct sv text = sv_make("a\xed\xa0\xbd\xff z\0y", 9);
    assert_true(content_add_text(&m->content, text));
    buf_addc(&talk_thinking(talk_answer(&talk), "h", "S")->text, '\0');
    talk_text(talk.messages[1], "b");
    talk_user(&talk, "c");
    expect("user[a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd z\xef\xbf\xbdy]\n"
           "answer[thinking S h\xef\xbf\xbd b]\nuser[c]\n");
}

/* -- the order of messages -- */

static void a_request_begins_with_the_user(void **state)
{
    (void)state;
    talk_result(&talk, "t", "x");
    talk_text(talk_answer(&talk), "a");
    talk_user(&talk, "b");
    expect("user[Continue.]\nanswer[a]\nuser[b]\n");
}

static void a_request_does_not_end_with_an_answer(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_text(talk_answer(&talk), "b");
    expect("user[a]\nanswer[b]\nuser[Continue.]\n");
    talk_text(talk_answer(&talk), "c");
    expect("user[a]\nanswer[b]\nuser[Continue.]\nanswer[c]\nuser[Continue.]\n");
}

static void there_must_be_something_to_send(void **state)
{
    (void)state;
    expect("there is nothing to send");
    talk_user(&talk, " ");
    talk_result(&talk, "t", "x");
    expect("there is nothing to send");
}

/* -- thinking -- */

static struct message *thinking_answer(void)
{
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_thinking(m, "signed  ", "S+/=");
    talk_thinking(m, "", "R")->redacted = true;
    talk_thinking(m, "", "E");
    talk_thinking(m, "unsigned", NULL);
    talk_call(m, "t", "read", "{}")->signature = strdup("C");
    talk_thinking(m, "at the end", "Z");
    talk_result(&talk, "t", "r");
    return m;
}

static void signed_thinking_goes_back_to_its_model_unchanged(void **state)
{
    (void)state;
    thinking_answer();
    expect("user[a]\nanswer[thinking S+/= signed   thinking R  thinking E  unsigned "
           "thinking Z at the end t read {}]\nresult(t)[r]\n");
}

static void thinking_of_another_model_becomes_text(void **state)
{
    (void)state;
    char **names[3];
    for (int i = 0; i < 3; i++) {
        start(NULL);
        struct message *m = thinking_answer();
        names[0] = &m->api;
        names[1] = &m->provider;
        names[2] = &m->model;
        free(*names[i]);
        *names[i] = strdup("other");
        expect("user[a]\nanswer[signed   unsigned at the end t read {}]\nresult(t)[r]\n");
    }
}

static void thinking_is_kept_made_text_or_dropped_as_the_target_wants(void **state)
{
    (void)state;
    thinking_answer();
    target.thinking = HISTORY_THINKING_KEEP;
    expect("user[a]\nanswer[thinking S+/= signed   thinking R  thinking E  "
           "thinking - unsigned thinking Z at the end t read {}]\nresult(t)[r]\n");
    target.thinking = HISTORY_THINKING_TEXT;
    expect("user[a]\nanswer[signed   unsigned at the end t read {}]\nresult(t)[r]\n");
    target.thinking = HISTORY_THINKING_DROP;
    expect("user[a]\nanswer[t read {}]\nresult(t)[r]\n");
    target.thinking = HISTORY_THINKING_NONE;
    expect("user[a]\nanswer[t read {}]\nresult(t)[r]\n");
}

static void an_answer_of_nothing_but_thinking_is_left_out(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_thinking(talk_answer(&talk), "hm", "S");
    talk_user(&talk, "b");
    expect("user[a b]\n");
}

/* -- images -- */

static void images_are_what_their_bytes_say(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    talk_image(m, "image/jpeg", PNG);
    talk_image(m, "image/png", "QUJD");
    talk_image(m, "image/png", "!");
    expect("user[image/png ... (an image was left out: it is not PNG, JPEG, GIF or "
           "WebP)]\n");
}

static void a_model_without_eyes_gets_a_note_for_each_row_of_images(void **state)
{
    (void)state;
    talk.model.input_image = false;
    struct message *m = talk_add(&talk, ROLE_USER);
    talk_image(m, "image/png", PNG);
    talk_image(m, "image/png", PNG);
    talk_text(m, "a");
    talk_image(m, "image/png", PNG);
    expect("user[(an image was left out: this model does not take images) a "
           "(an image was left out: this model does not take images)]\n");
}

static void an_error_holds_no_image(void **state)
{
    (void)state;
    talk_user(&talk, "a");
    talk_call(talk_answer(&talk), "t", "read", "{}");
    struct message *m = talk_result(&talk, "t", "bad");
    talk_image(m, "image/png", PNG);
    m->is_error = true;
    expect("user[a]\nanswer[t read {}]\nresult(t,error)[bad (an image was left out: "
           "results of failed calls hold text only)]\n");
}

static void add_large_image(struct message *m, unsigned width, size_t bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char head[24] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    head[18] = (unsigned char)(width >> 8);
    head[19] = (unsigned char)width;
    head[23] = 1;
    struct block *b = content_add(&m->content, BLOCK_IMAGE);
    for (size_t i = 0; i < sizeof head; i += 3) {
        unsigned bits = (unsigned)head[i] << 16 | head[i + 1] << 8 | head[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) {
            buf_addc(&b->text, digits[bits >> shift & 63]);
        }
    }
    while (b->text.len < bytes) {
        buf_adds(&b->text, "AAAA");
    }
}

static void images_keep_within_limits(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    add_large_image(m, 8001, 0);
    add_large_image(m, 8000, 5000001);
    add_large_image(m, 8000, 5000000);
    expect("user[(an image was left out: a side is longer than 8000 pixels) "
           "(an image was left out: it is larger than 5 MB) image/png ...]\n");
}

static size_t count_images(void)
{
    struct history h;
    size_t n = 0;
    assert_int_equal(history_build(&h, talk_request(&talk), &target, NULL), PI_OK);
    for (size_t i = 0; i < h.messages[0].len; i++) {
        n += h.messages[0].blocks[i].type == BLOCK_IMAGE;
    }
    history_finish(&h);
    return n;
}

static void of_too_many_images_the_newest_are_sent(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    for (int i = 0; i < 120; i++) {
        add_large_image(m, 10, 0);
    }
    assert_int_equal(count_images(), 100);
    start(NULL);
    m = talk_add(&talk, ROLE_USER);
    for (int i = 0; i < 6; i++) {
        add_large_image(m, 10, 4900000);
    }
    assert_int_equal(count_images(), 4);
}

static void many_images_must_be_smaller(void **state)
{
    (void)state;
    struct message *m = talk_add(&talk, ROLE_USER);
    for (int i = 0; i < 20; i++) {
        add_large_image(m, i == 0 ? 2001 : 2000, 0);
    }
    assert_int_equal(count_images(), 20);
    add_large_image(m, 2000, 0);
    assert_int_equal(count_images(), 20);
}

static void tools_that_are_gone_are_named(void **state)
{
    (void)state;
    struct history h;
    talk_user(&talk, "a");
    struct message *m = talk_answer(&talk);
    talk_call(m, "1", "ls", "{}");
    talk_call(m, "2", "read", "{}");
    talk_call(m, "3", "ls", "{}");
    assert_int_equal(history_build(&h, talk_request(&talk), &target, NULL), PI_OK);
    assert_int_equal(h.tool_names_len, 0);
    history_finish(&h);
    talk.tools_len = 0;
    assert_int_equal(history_build(&h, talk_request(&talk), &target, NULL), PI_OK);
    assert_int_equal(h.tool_names_len, 2);
    assert_string_equal(h.tool_names[0], "ls");
    assert_string_equal(h.tool_names[1], "read");
    history_finish(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(failed_answers_are_left_out_with_their_results),
        TEST(each_call_gets_one_result_in_order),
        TEST(a_conversation_may_end_in_a_call),
        TEST(ids_are_unique),
        TEST(ids_may_be_missing),
        TEST(names_have_legal_letters),
        TEST(arguments_are_one_object),
        TEST(a_result_without_output_says_so),
        TEST(the_calls_of_an_answer_stand_last),
        TEST(no_text_is_blank),
        TEST(texts_are_utf8_without_nul),
        TEST(a_request_begins_with_the_user),
        TEST(a_request_does_not_end_with_an_answer),
        TEST(there_must_be_something_to_send),
        TEST(signed_thinking_goes_back_to_its_model_unchanged),
        TEST(thinking_of_another_model_becomes_text),
        TEST(thinking_is_kept_made_text_or_dropped_as_the_target_wants),
        TEST(an_answer_of_nothing_but_thinking_is_left_out),
        TEST(images_are_what_their_bytes_say),
        TEST(a_model_without_eyes_gets_a_note_for_each_row_of_images),
        TEST(an_error_holds_no_image),
        TEST(images_keep_within_limits),
        TEST(of_too_many_images_the_newest_are_sent),
        TEST(many_images_must_be_smaller),
        TEST(tools_that_are_gone_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
