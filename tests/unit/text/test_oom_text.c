#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "oom.h"
#include "text/diff.h"
#include "text/term.h"
#include "text/truncate.h"
#include "text/utf8.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks)
// and the failure must be told.

static void test_utf8(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct buf b = {0};
        struct utf8_stream u = {0};
        oom_start(n);
        for (int i = 0; i < 50; i++) {
            utf8_repair(&b, sv_of("gr\xc3\xbc\xff\xe2\x82"));
            utf8_stream_feed(&u, &b, sv_of("\x82\xac\xe2"));
        }
        utf8_stream_end(&u, &b);
        failed = oom_stop();
        assert_int_equal(buf_ok(&b), !failed);
        buf_finish(&b);
    }
}

static void test_term(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "plain\n",
        "half a line ",
        "\xe2\x82",
        "\xac\r\xc3\xa9\xc3\xa9",
        "\x1b[1K\x1b[2Gxx\b\bz",
        "\x1b]0;t\x07",
        "\xff\n",
        "\x1b[Kmore",
        "\r\xe2\x82\xac\xe2\x82\xac",
    };
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct term t = {0};
        struct buf out = {0};
        oom_start(n);
        for (size_t i = 0; i < 200; i++) {
            term_feed(&t, &out, sv_of(pieces[i % (sizeof pieces / sizeof pieces[0])]));
        }
        term_end(&t, &out);
        failed = oom_stop();
        assert_int_equal(buf_ok(&out), !failed);
        term_finish(&t);
        buf_finish(&out);
    }
}

static void test_diff(void **state)
{
    (void)state;
    struct diff_window w = {sv_of("a\nb\nc\nd\ne\nf\ng\n"),
                            sv_of("a\nc\nx\nd\nE\nf\ng\nh"), 1, 1};
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct diff d = {0};
        struct buf out = {0};
        struct pi_error err = {0};
        oom_start(n);
        enum pi_status status = diff_lines(&d, w.before, w.after, &err);
        if (status == PI_OK) {
            status = diff_write_patch(&out, "path", &w, 1, 1, &err);
        }
        if (status == PI_OK) {
            status = diff_write_rows(&out, &w, 1, 1, 7, &err);
        }
        failed = oom_stop();
        assert_int_equal(status, failed ? PI_NOMEM : PI_OK);
        diff_finish(&d);
        buf_finish(&out);
    }
}

static void test_truncation(void **state)
{
    (void)state;
    struct truncation t = truncate_head(sv_of("a\nb\n"), 1, 10);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        oom_start(n);
        struct json *j = truncation_json(&t, 1, 10);
        failed = oom_stop();
        assert_int_equal(j == NULL, failed);
        json_destroy(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_term),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
