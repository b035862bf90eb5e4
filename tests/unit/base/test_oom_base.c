#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "oom.h"

// wrap: malloc calloc realloc strdup

// Every allocation fails once. Memory must be given back (the address sanitizer looks)
// and the failure must be told.

static void test_buf(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct buf b = {0};
        oom_start(n);
        for (int i = 0; i < 100; i++) {
            buf_adds(&b, "some text");
            buf_addf(&b, "%d %s", i, "and more");
        }
        char *text = buf_take(&b);
        failed = oom_stop();
        assert_int_equal(text == NULL, failed);
        free(text);
    }
}

static void test_map(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct map m = {0};
        bool ok = true;
        size_t set = 0;
        oom_start(n);
        for (int i = 0; i < 40; i++) {
            char key[] = {(char)('a' + i), 0};
            bool done = map_set(&m, sv_of(key), &m);
            ok = ok && done;
            set += done;
        }
        failed = oom_stop();
        assert_int_equal(ok, !failed);
        assert_int_equal(m.len, set);
        map_finish(&m);
    }
}

static const char text[] =
    "{\"k\":[1.5,true,null,\"s\\u0000\xff\"],\"o\":{\"a\":\"b\"},\"k\":\"x\"}";

static void test_json_parse_and_write(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct json *j = NULL;
        struct pi_error err = {0};
        struct buf b = {0};
        oom_start(n);
        enum pi_status status = json_parse(&j, sv_of(text), NULL, &err);
        struct json *copy = j ? json_copy(j) : NULL;
        if (copy) {
            json_write(&b, copy);
        }
        failed = oom_stop();
        assert_int_equal(status, j ? PI_OK : PI_NOMEM);
        assert_int_equal(!copy || !buf_ok(&b), failed);
        json_destroy(copy);
        json_destroy(j);
        buf_finish(&b);
    }
}

static bool build(struct json *o)
{
    struct json *list = json_new_array();
    bool ok = json_push(list, json_new_string(sv_of("a\xff")));
    ok = json_push(list, json_new_int(INT64_MAX)) && ok;
    ok = json_set(o, "list", list) && ok;
    ok = json_set_str(o, "text", "t") && ok;
    ok = json_set_int(o, "text", 1) && ok;
    return json_set_bool(o, "flag", true) && ok;
}

static void test_json_build(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct json *o = json_new_object();
        assert_non_null(o);
        oom_start(n);
        bool ok = build(o);
        failed = oom_stop();
        assert_int_equal(ok, !failed);
        json_destroy(o);
    }
}

// A secret that could not be remembered, or a line that could not be cleaned, must not be
// written.
static void test_log_rather_loses_lines_than_secrets(void **state)
{
    (void)state;
    char path[] = "/tmp/pi-test-oom-log-XXXXXX";
    char got[1000];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct log *l = NULL;
        oom_start(n);
        enum pi_status status = log_open(&l, path, NULL);
        log_redact(l, "the-secret");
        log_line(l, "a line with the-secret inside");
        failed = oom_stop();
        assert_int_equal(status, l ? PI_OK : PI_NOMEM);
        log_close(l);
        ssize_t len = pread(fd, got, sizeof got, 0);
        assert_true(len >= 0);
        assert_null(len ? memmem(got, (size_t)len, "the-secret", 10) : NULL);
        assert_int_equal(len > 0, !failed);
        assert_int_equal(ftruncate(fd, 0), 0);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_json_parse_and_write),
        cmocka_unit_test(test_json_build),
        cmocka_unit_test(test_log_rather_loses_lines_than_secrets),
    };
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = oom_malloc, .free_fn = free});
    return cmocka_run_group_tests(tests, NULL, NULL);
}
