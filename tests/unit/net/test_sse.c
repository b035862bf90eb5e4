#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "net/sse.h"

// Events as text: [name|data]
static bool collect(void *data, const struct sse_event *event)
{
    struct buf *out = data;
    buf_addc(out, '[');
    buf_addsv(out, event->name);
    buf_addc(out, '|');
    buf_addsv(out, event->data);
    buf_addc(out, ']');
    return true;
}

static void feed_in_pieces(struct sv text, size_t piece, struct buf *out)
{
    struct sse s = {0};
    for (size_t i = 0; i < text.n; i += piece) {
        size_t n = text.n - i < piece ? text.n - i : piece;
        // An exact copy, so that reading past a piece is seen by the sanitizer.
        char *copy = malloc(n);
        memcpy(copy, text.p + i, n);
        assert_int_equal(sse_feed(&s, sv_make(copy, n), collect, out, NULL), PI_OK);
        free(copy);
    }
    sse_end(&s, collect, out);
    sse_finish(&s);
}

static void expect(const char *text, const char *want)
{
    size_t n = strlen(text);
    for (size_t piece = 1; piece <= n; piece++) {
        struct buf out = {0};
        feed_in_pieces(sv_make(text, n), piece, &out);
        assert_string_equal(buf_cstr(&out), want);
        buf_finish(&out);
    }
}

static void reads_events_split_anywhere(void **state)
{
    (void)state;
    expect("data: a\n\n", "[|a]");
    expect("event: x\ndata:b\n\ndata:  c\n\n", "[x|b][| c]");
    expect("data: one\ndata: two\ndata\n\n", "[|one\ntwo\n]");
    expect(": comment\nid: 7\nretry: 1\nwhatever: x\ndata: y\n\n", "[|y]");
    expect("\xef\xbb\xbf"
           "data: bom\n\n",
           "[|bom]");
    expect("\xef\xbbxdata: half\n\ndata: z\n\n", "[|z]");
    expect("event: nothing\n\ndata: q\n\n", "[|q]");
}

static void takes_every_line_end(void **state)
{
    (void)state;
    expect("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "[|a][|b][|c]");
    expect("data: a\r\ndata: b\rdata: c\n\r\n", "[|a\nb\nc]");
}

static void an_end_without_blank_line_still_gives_whole_lines(void **state)
{
    (void)state;
    expect("data: a\n\ndata: last\n", "[|a][|last]");
    expect("data: a\n\ndata: cut in the mid", "[|a]");
}

static bool stop_at_once(void *data, const struct sse_event *event)
{
    collect(data, event);
    return false;
}

static void stops_when_told(void **state)
{
    (void)state;
    struct sse s = {0};
    struct buf out = {0};
    struct sv text = sv_of("data: 1\n\ndata: 2\n\n");
    assert_int_equal(sse_feed(&s, text, stop_at_once, &out, NULL), PI_OK);
    sse_end(&s, stop_at_once, &out);
    assert_string_equal(buf_cstr(&out), "[|1]");
    buf_finish(&out);
    sse_finish(&s);
}

static void an_endless_event_is_an_error(void **state)
{
    (void)state;
    struct sse s = {0};
    struct buf out = {0};
    struct pi_error err;
    size_t n = 4 * 1024 * 1024;
    char *piece = malloc(n);
    memset(piece, 'x', n);
    enum pi_status status = PI_OK;
    for (int i = 0; i < 20 && !status; i++) {
        status = sse_feed(&s, sv_make(piece, n), collect, &out, &err);
    }
    assert_int_equal(status, PI_LIMIT);
    free(piece);
    buf_finish(&out);
    sse_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_events_split_anywhere),
        cmocka_unit_test(takes_every_line_end),
        cmocka_unit_test(an_end_without_blank_line_still_gives_whole_lines),
        cmocka_unit_test(stops_when_told),
        cmocka_unit_test(an_endless_event_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
