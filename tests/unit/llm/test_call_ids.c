#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "llm/call_ids.h"

static void expect(struct call_ids *ids, const char *id, bool own, const char *want)
{
    char *got = call_ids_next(ids, sv_of(id), own);
    assert_string_equal(got, want);
    free(got);
}

#define LONG "0123456789012345678901234567890123456789012345678901234567890123"

static void anthropic_takes_plain_letters(void **state)
{
    (void)state;
    struct call_ids ids = {.rule = CALL_IDS_ANTHROPIC};
    expect(&ids, "toolu_1-A", true, "toolu_1-A");
    expect(&ids, "functions.read:0", true, "functions_read_0");
    expect(&ids, "", true, "call");
    expect(&ids, "", false, "call_2");
    expect(&ids, "\xc3\xa9", false, "__");
    expect(&ids, LONG "4", false, LONG);
    expect(&ids, LONG "5", false,
           "01234567890123456789012345678901234567890123456789012345678901_2");
    call_ids_finish(&ids);
}

static void repeated_ids_get_a_number(void **state)
{
    (void)state;
    struct call_ids ids = {.rule = CALL_IDS_ANTHROPIC};
    expect(&ids, "a", true, "a");
    expect(&ids, "a", true, "a_2");
    expect(&ids, "a_2", true, "a_2_2");
    expect(&ids, "a", true, "a_3");
    call_ids_finish(&ids);
}

static void chat_keeps_what_the_model_made(void **state)
{
    (void)state;
    struct call_ids ids = {.rule = CALL_IDS_CHAT};
    expect(&ids, "functions.read:0", true, "functions.read:0");
    expect(&ids, "functions.read:0", true, "functions.read:0_2");
    expect(&ids, "functions.read:0", false, "functions_read_0");
    expect(&ids, "a b\n", true, "a_b_");
    expect(&ids, "call_1|fc_2", false, "call_1");
    expect(&ids, "|fc", false, "_fc");
    expect(&ids, LONG, true, "0123456789012345678901234567890123456789");
    call_ids_finish(&ids);
}

static void mistral_wants_nine_letters_or_digits(void **state)
{
    (void)state;
    struct call_ids ids = {.rule = CALL_IDS_MISTRAL}, again = ids;
    expect(&ids, "abcDEF123", true, "abcDEF123");
    char *seen[3];
    static const char *const from[] = {"abcDEF123", "toolu_1", ""};
    for (int i = 0; i < 3; i++) {
        seen[i] = call_ids_next(&ids, sv_of(from[i]), false);
        assert_int_equal(strlen(seen[i]), 9);
        for (const char *p = seen[i]; *p; p++) {
            assert_true(isalnum((unsigned char)*p));
        }
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(seen[i], seen[k]);
        }
    }
    // The same calls get the same ids in the next request.
    expect(&again, "abcDEF123", true, "abcDEF123");
    for (int i = 0; i < 3; i++) {
        expect(&again, from[i], false, seen[i]);
        free(seen[i]);
    }
    call_ids_finish(&ids);
    call_ids_finish(&again);
}

static void some_want_their_own_ids_exactly(void **state)
{
    (void)state;
    struct call_ids ids = {.rule = CALL_IDS_KEEP};
    expect(&ids, "functions.read:0", true, "functions.read:0");
    expect(&ids, "functions.read:0", true, "functions.read:0");
    expect(&ids, "", true, "call");
    expect(&ids, "x.y", false, "x_y");
    expect(&ids, "x.y", false, "x_y_2");
    call_ids_finish(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anthropic_takes_plain_letters),
        cmocka_unit_test(repeated_ids_get_a_number),
        cmocka_unit_test(chat_keeps_what_the_model_made),
        cmocka_unit_test(mistral_wants_nine_letters_or_digits),
        cmocka_unit_test(some_want_their_own_ids_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
