#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "llm/error_body.h"

static const struct {
    const char *body, *words, *kind;
    int status;
    int64_t retry_after_ms;
} shapes[] = {
    {"", "", "", 0, 0},
    {" \r\n\t ", "", "", 0, 0},
    {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
     "\"Overloaded\"}}",
     "Overloaded", "error overloaded_error", 0, 0},
    {"\n\n{\"error\":{\"message\":\"no\",\"type\":\"t\",\"code\":\"c\"}}", "no", "t c", 0,
     0},
    {"{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"S\"}}", "m", "429 S", 429,
     0},
    {"{\"error\":\"bare\"}", "bare", "", 0, 0},
    {"{\"code\":\"Bad\",\"error\":\"bare\"}", "bare", "Bad", 0, 0},
    {"{\"detail\":\"Not Found\"}", "Not Found", "", 0, 0},
    {"{\"detail\":[{\"loc\":[\"a\"],\"msg\":\"field required\"}]}", "field required", "",
     0, 0},
    {"{\"message\":\"m\",\"code\":42}", "m", "42", 0, 0},
    {"[{\"error\":{\"message\":\"in an array\"}}]", "in an array", "", 0, 0},
    {"\"a string\"", "a string", "", 0, 0},
    {"{\"errors\":[{\"message\":\"first\"},{\"message\":\"second\"}]}", "first", "", 0,
     0},
    {"{\"error\":{\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"inner\\\"}}\"}}",
     "inner", "", 0, 0},
    {"{\"error\":{\"message\":\"Provider returned error\",\"metadata\":{\"raw\":"
     "\"{\\\"error\\\":{\\\"message\\\":\\\"the "
     "cause\\\"}}\",\"provider_name\":\"Acme\"}}}",
     "Provider returned error: Acme: the cause", "", 0, 0},
    {"{\"error\":{\"message\":\"q\",\"details\":[{\"violations\":[{\"quotaId\":"
     "\"PerDay\"}]"
     "},{\"retryDelay\":\"34.07s\"}]}}",
     "q", "PerDay", 0, 34070},
    {"{\"error\":null,\"x\":1}", "{\"error\":null,\"x\":1}", "", 0, 0},
    {"{\"error\":{}}", "{\"error\":{}}", "", 0, 0},
    {"{\"type\":\"only_a_kind\"}", "only_a_kind", "only_a_kind", 0, 0},
    {"plain\ttext \x01\n\n here ", "plain text here", "", 0, 0},
    {"{\"cut\":", "{\"cut\":", "", 0, 0},
    {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd", "", 0, 0},
    {"\xef\xbb\xbf{\"error\":\"after a mark\"}", "after a mark", "", 0, 0},
    {"<html><TITLE>\n 502  Bad\n Gateway</TITLE><body>password</body>",
     "a page of HTML instead of an answer, titled \"502 Bad Gateway\"", "", 0, 0},
    {"<", "a page of HTML instead of an answer", "", 0, 0},
    {"<title", "a page of HTML instead of an answer", "", 0, 0},
    {"<title>never closed", "a page of HTML instead of an answer", "", 0, 0},
    {"{\"error\":\"Please try again in 20ms. Thanks\"}",
     "Please try again in 20ms. Thanks", "", 0, 20},
    {"{\"error\":\"try again in 6m0.5s.\"}", "try again in 6m0.5s.", "", 0, 360500},
    {"{\"error\":\"Please retry in 1h2m3s\"}", "Please retry in 1h2m3s", "", 0, 3723000},
    {"{\"error\":\"Retry after 5 seconds\"}", "Retry after 5 seconds", "", 0, 5000},
    {"{\"error\":\"try again in a while\"}", "try again in a while", "", 0, 0},
    {"{\"error\":\"try again in 5 apples\"}", "try again in 5 apples", "", 0, 0},
};

static void every_shape_has_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct error_body b = {0};
        // An exact copy, so that reading past it is seen by the sanitizer.
        size_t n = strlen(shapes[i].body);
        char *copy = malloc(n + 1);
        memcpy(copy, shapes[i].body, n);
        error_body_read(&b, sv_make(copy, n));
        free(copy);
        assert_string_equal(buf_cstr(&b.words), shapes[i].words);
        assert_string_equal(buf_cstr(&b.kind), shapes[i].kind);
        assert_int_equal(b.status, shapes[i].status);
        assert_int_equal(b.retry_after_ms, shapes[i].retry_after_ms);
        error_body_finish(&b);
    }
}

static void long_words_are_cut_between_characters(void **state)
{
    (void)state;
    struct buf body = {0};
    struct error_body b = {0};
    buf_adds(&body, "{\"error\":\"a");
    for (int i = 0; i < 5000; i++) {
        buf_adds(&body, "\xc3\xa4");
    }
    buf_adds(&body, "\"}");
    error_body_read(&b, buf_sv(&body));
    assert_int_equal(b.words.len, 999 + 3);
    assert_string_equal(b.words.data + b.words.len - 5, "\xc3\xa4...");
    error_body_finish(&b);
    buf_finish(&body);
}

static void deep_bodies_do_no_harm(void **state)
{
    (void)state;
    struct buf body = {0};
    struct error_body b = {0};
    for (int i = 0; i < 500; i++) {
        buf_adds(&body, "{\"error\":");
    }
    buf_adds(&body, "1");
    for (int i = 0; i < 500; i++) {
        buf_addc(&body, '}');
    }
    error_body_read(&b, buf_sv(&body));
    assert_true(b.words.len > 0 && b.words.len < 400);
    error_body_finish(&b);
    buf_finish(&body);
}

static void errors_are_told_from_answers(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool error;
    } rows[] = {
        {"{\"error\":{\"message\":\"m\"}}", true},
        {"{\"error\":\"m\"}", true},
        {"[{\"error\":{}}]", true},
        {"{\"detail\":\"m\"}", true},
        {"{\"type\":\"error\"}", true},
        {"\"m\"", true},
        {"{\"error\":null,\"choices\":[]}", false},
        {"{\"error\":\"\",\"choices\":[]}", false},
        {"{\"type\":\"message\"}", false},
        {"[]", false},
        {"{}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json *j;
        assert_int_equal(json_parse(&j, sv_of(rows[i].body), NULL, NULL), PI_OK);
        assert_int_equal(error_body_is_error(j), rows[i].error);
        json_destroy(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_has_its_words),
        cmocka_unit_test(long_words_are_cut_between_characters),
        cmocka_unit_test(deep_bodies_do_no_harm),
        cmocka_unit_test(errors_are_told_from_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
