#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/body_kind.h"

static void the_first_bytes_decide_then_the_type(void **state)
{
    (void)state;
    static const struct {
        const char *type, *start;
        enum body_kind kind;
    } rows[] = {
        {NULL, "", BODY_UNKNOWN},
        {"text/event-stream", "", BODY_UNKNOWN},
        {"text/event-stream", "\r\n\r\n", BODY_UNKNOWN},
        {"text/event-stream", "x", BODY_EVENTS},
        {"Text/Event-Stream; charset=utf-8", "x", BODY_EVENTS},
        {"text/event-stream", "{", BODY_JSON},
        {"text/event-stream", "\n <html", BODY_HTML},
        {NULL, "d", BODY_UNKNOWN},
        {NULL, "data", BODY_UNKNOWN},
        {NULL, "data:", BODY_EVENTS},
        {NULL, "data\n", BODY_EVENTS},
        {NULL, "database", BODY_TEXT},
        {NULL, "event: x", BODY_EVENTS},
        {NULL, "retry: 1", BODY_EVENTS},
        {NULL, ": comment", BODY_EVENTS},
        {NULL, "\xef", BODY_UNKNOWN},
        {NULL, "\xef\xbb\xbf", BODY_UNKNOWN},
        {NULL, "\xef\xbb\xbf:", BODY_EVENTS},
        {NULL, "\xef\xbb\xbf{", BODY_JSON},
        {"text/plain", "data: x", BODY_EVENTS},
        {"text/html", "It works", BODY_TEXT},
        {"application/json", "null", BODY_JSON},
        {"application/problem+json", "[", BODY_JSON},
        {NULL, "It works", BODY_TEXT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(body_kind_of(rows[i].type, sv_of(rows[i].start)), rows[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_bytes_decide_then_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
