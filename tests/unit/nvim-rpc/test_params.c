// link: pi-nvim-rpc
// The parameters of a method, read by a table.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "params.h"

struct read {
    const char *text, *bytes;
    size_t bytes_len;
    bool flag;
    uint64_t number;
    const char *const *list;
};

static const struct param table[] = {
    {"text", PARAM_TEXT, offsetof(struct read, text), 0},
    {"bytes", PARAM_TEXT, offsetof(struct read, bytes), offsetof(struct read, bytes_len)},
    {"flag", PARAM_FLAG, offsetof(struct read, flag), 0},
    {"number", PARAM_NUMBER, offsetof(struct read, number), 0},
    {"list", PARAM_LIST, offsetof(struct read, list), 0},
    {0},
};

// Reads one message of msgpack.
static enum pi_status take(const char *bytes, size_t len, struct read *into,
                           struct param_texts *texts, struct pi_error *err)
{
    msgpack_unpacked message;
    msgpack_unpacked_init(&message);
    assert_int_equal(msgpack_unpack_next(&message, bytes, len, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    enum pi_status status = params_read(&message.data, table, into, texts, err);
    msgpack_unpacked_destroy(&message);
    return status;
}

#define TAKE(bytes, into, texts, err) take(bytes, sizeof bytes - 1, into, texts, err)

static void test_each_kind_is_kept_beyond_the_message(void **state)
{
    (void)state;
    struct read r = {0};
    struct param_texts texts = {0};
    struct pi_error err = {0};
    assert_int_equal(TAKE("\x85\xa4text\xa1x\xa5"
                          "bytes\xa3"
                          "a\0b\xa4"
                          "flag\xc3\xa6number\x07\xa4"
                          "list\x92\xa3one\xa0",
                          &r, &texts, &err),
                     PI_OK);
    assert_string_equal(r.text, "x");
    assert_int_equal(r.bytes_len, 3);
    assert_memory_equal(r.bytes, "a\0b", 4);
    assert_true(r.flag);
    assert_int_equal(r.number, 7);
    assert_string_equal(r.list[0], "one");
    assert_string_equal(r.list[1], "");
    assert_null(r.list[2]);
    param_texts_finish(&texts);
}

static void test_nil_is_not_given_and_the_envelope_is_no_parameter(void **state)
{
    (void)state;
    struct read r = {.number = 3};
    struct param_texts texts = {0};
    assert_int_equal(TAKE("\x83\xa6number\xc0\xa3seq\x01\xaa"
                          "connection\x02",
                          &r, &texts, NULL),
                     PI_OK);
    assert_int_equal(r.number, 3);
    param_texts_finish(&texts);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    struct read r = {0};
    struct param_texts texts = {0};
    struct pi_error err = {0};
    assert_int_equal(TAKE("\x81\xa4oops\x01", &r, &texts, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "\"oops\""));
    assert_int_equal(TAKE("\x81\xa4list\x91\x01", &r, &texts, &err), PI_INVALID);
    assert_non_null(strstr(err.message, "list must be a list of texts"));
    assert_int_equal(TAKE("\x81\xa6number\xff", &r, &texts, &err), PI_INVALID);
    assert_int_equal(TAKE("\x81\x01\x01", &r, &texts, &err), PI_INVALID);
    assert_int_equal(TAKE("\x90", &r, &texts, &err), PI_INVALID);
    param_texts_finish(&texts);
}

static void test_the_envelope_is_found_in_anything(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        uint64_t seq, connection;
    } cases[] = {
        {"\x91\x82\xa3seq\x05\xaa"
         "connection\x06",
         20, 5, 6},
        {"\x91\x81\xa3seq\xff", 7, 0, 0},
        {"\x91\x81\x01\x02", 4, 0, 0},
        {"\x91\x07", 2, 0, 0},
        {"\x90", 1, 0, 0},
        {"\x07", 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        msgpack_unpacked message;
        msgpack_unpacked_init(&message);
        assert_int_equal(
            msgpack_unpack_next(&message, cases[i].bytes, cases[i].len, NULL),
            MSGPACK_UNPACK_SUCCESS);
        struct param_envelope e = params_envelope(&message.data);
        assert_int_equal(e.seq, cases[i].seq);
        assert_int_equal(e.connection, cases[i].connection);
        msgpack_unpacked_destroy(&message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_is_kept_beyond_the_message),
        cmocka_unit_test(test_nil_is_not_given_and_the_envelope_is_no_parameter),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_the_envelope_is_found_in_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
