#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llm/retry.h"

// 2026-10-21T07:27:00Z
static const int64_t now_ms = INT64_C(1792567620000);

static void retry_after_is_read_in_all_its_forms(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        {"7", 7000},
        {"1.5", 1500},
        {"  2", 2000},
        {"2 ", 2000},
        {"0", 0},
        {"-5", 0},
        {"0.001", 1},
        {"", 0},
        {"soon", 0},
        {"5s", 0},
        {"1,5", 0},
        {"NaN", 0},
        {"1e9", 0},
        {"1000000000", INT64_C(1000000000000)},
        {"Wed, 21 Oct 2026 07:28:00 GMT", 60000},
        {"Wed, 21 Oct 2026 07:26:00 GMT", 0},
        {"Thu, 29 Feb 2024 00:00:00 GMT", 0},
        {"Wed, 21 Okt 2026 07:28:00 GMT", 0},
        {"Wed, 21 Oct 2026 07:28:00 CET", 0},
        {"Wed, 21 ctN 2026 07:28:00 GMT", 0},
        {"Wednesday, 21-Oct-26 07:28:00 GMT", 0},
        {"Wed, 99 Oct 9999 99:99:99 GMT", INT64_C(251608717000000)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t got = retry_after_parse(rows[i].value, now_ms);
        if (got != rows[i].ms && i + 1 < sizeof rows / sizeof *rows) {
            fail_msg("%s: %lld", rows[i].value, (long long)got);
        }
    }
    assert_int_equal(retry_after_parse(NULL, now_ms), 0);
    assert_true(retry_after_parse("99999999999999999999999999999999", now_ms) > 0);
    assert_int_equal(retry_after_parse("Thu, 01 Jan 1970 00:00:01 GMT", 0), 1000);
    assert_int_equal(retry_after_parse("Sat, 01 Mar 2036 00:00:00 GMT", 0),
                     INT64_C(2087942400000));
}

static void responses_are_judged(void **state)
{
    (void)state;
    static const struct {
        struct retry_evidence evidence;
        const char *words, *kind;
        int want;
    } rows[] = {
        {{.status = 408}, "", "", FAILURE_RETRY},
        {{.status = 409}, "x", "", FAILURE_RETRY},
        {{.status = 425}, "x", "", FAILURE_RETRY},
        {{.status = 429}, "x", "", FAILURE_RETRY},
        {{.status = 500}, "x", "", FAILURE_RETRY},
        {{.status = 502}, "x", "", FAILURE_RETRY},
        {{.status = 503}, "x", "", FAILURE_RETRY},
        {{.status = 504}, "x", "", FAILURE_RETRY},
        {{.status = 520}, "x", "", FAILURE_RETRY},
        {{.status = 524}, "x", "", FAILURE_RETRY},
        {{.status = 529}, "x", "", FAILURE_RETRY},
        {{.status = 400}, "x", "", FAILURE_FATAL},
        {{.status = 401}, "x", "", FAILURE_FATAL},
        {{.status = 402}, "x", "", FAILURE_FATAL},
        {{.status = 403}, "x", "", FAILURE_FATAL},
        {{.status = 404}, "1500 tokens", "", FAILURE_FATAL},
        {{.status = 422}, "x", "", FAILURE_FATAL},
        {{.status = 501}, "x", "", FAILURE_FATAL},
        {{.status = 413}, "x", "", FAILURE_OVERFLOW},
        {{.status = 400}, "prompt is too long: 9 tokens", "", FAILURE_OVERFLOW},
        {{.status = 500}, "exceeds the available context size", "", FAILURE_OVERFLOW},
        {{.status = 429}, "x", "insufficient_quota", FAILURE_FATAL},
        {{.status = 429}, "check your plan and billing details", "", FAILURE_FATAL},
        {{.status = 429}, "You have hit your usage limit", "", FAILURE_FATAL},
        {{.status = 429}, "x", "GenerateRequestsPerDayPerProject", FAILURE_FATAL},
        {{.status = 429}, "x", "1308", FAILURE_FATAL},
        {{.status = 429}, "limit 1308", "", FAILURE_RETRY},
        {{.status = 400}, "x", "tool_use_failed", FAILURE_RESAMPLE},
        {{.status = 500}, "error parsing tool call: raw='{'", "", FAILURE_RESAMPLE},
        {{.status = 500},
         "Failed to parse tool call arguments as JSON",
         "",
         FAILURE_RESAMPLE},
        {{.status = 500, .should_retry = "false"}, "x", "", FAILURE_FATAL},
        {{.status = 400, .should_retry = "true"}, "x", "", FAILURE_RETRY},
        {{.status = 500, .should_retry = "maybe"}, "x", "", FAILURE_RETRY},
        // Inside a stream, without a status.
        {{0}, "Overloaded", "overloaded_error", FAILURE_RETRY},
        {{0}, "Internal server error", "api_error", FAILURE_RETRY},
        {{0}, "who knows", "", FAILURE_RETRY},
        {{0}, "bad field", "invalid_request_error", FAILURE_FATAL},
        {{0}, "who are you", "authentication_error", FAILURE_FATAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct retry_evidence e = rows[i].evidence;
        e.words = sv_of(rows[i].words);
        e.kind = sv_of(rows[i].kind);
        struct llm_failure f = retry_judge(&e);
        if ((int)f.kind != rows[i].want) {
            fail_msg("%d %s: %d", e.status, rows[i].words, (int)f.kind);
        }
    }
}

static int64_t asked(const char *ms, const char *seconds, int64_t hint)
{
    struct retry_evidence e = {.status = 429,
                               .words = sv_of("x"),
                               .retry_after_ms = ms,
                               .retry_after = seconds,
                               .hint_ms = hint,
                               .now_unix_ms = now_ms};
    return retry_judge(&e).retry_after_ms;
}

static void the_most_precise_wish_counts(void **state)
{
    (void)state;
    assert_int_equal(asked("1500.5", "9", 7), 1501);
    assert_int_equal(asked("soon", "9", 7), 9000);
    assert_int_equal(asked(NULL, "-9", 7), 7);
    assert_int_equal(asked("0", "0", 0), 0);
}

static void delays_grow_and_are_spread(void **state)
{
    (void)state;
    struct retry_policy policy = RETRY_POLICY_DEFAULT;
    struct llm_failure failure = {.kind = FAILURE_RETRY};
    static const int64_t want[] = {2000, 4000, 8000};
    int64_t delay;
    for (unsigned done = 0; done < 3; done++) {
        assert_int_equal(retry_decide(&delay, &policy, &failure, done, 0), RETRY_WAIT);
        assert_int_equal(delay, want[done]);
        assert_int_equal(retry_decide(&delay, &policy, &failure, done, UINT32_MAX),
                         RETRY_WAIT);
        assert_in_range(delay, want[done] * 3 / 4, want[done] * 3 / 4 + 1);
    }
    assert_int_equal(retry_decide(&delay, &policy, &failure, 3, 0), RETRY_NO);
    policy.max_retries = 1000;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 999, 0), RETRY_WAIT);
    assert_int_equal(delay, policy.max_delay_ms);
    policy.enabled = false;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 0, 0), RETRY_NO);
}

static void the_servers_wish_has_a_limit(void **state)
{
    (void)state;
    struct retry_policy policy = RETRY_POLICY_DEFAULT;
    struct llm_failure failure = {.kind = FAILURE_RETRY, .retry_after_ms = 60000};
    int64_t delay;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 0, 77), RETRY_WAIT);
    assert_int_equal(delay, 60000);
    failure.retry_after_ms = 60001;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 0, 77), RETRY_TOO_LONG);
    assert_int_equal(delay, 60001);
    assert_int_equal(retry_decide(&delay, &policy, &failure, 3, 77), RETRY_NO);
}

static void some_failures_are_tried_less_often_or_never(void **state)
{
    (void)state;
    const struct retry_policy policy = RETRY_POLICY_DEFAULT;
    struct llm_failure failure = {.kind = FAILURE_RESAMPLE};
    int64_t delay;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 1, 0), RETRY_WAIT);
    assert_int_equal(retry_decide(&delay, &policy, &failure, 2, 0), RETRY_NO);
    failure.kind = FAILURE_FATAL;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 0, 0), RETRY_NO);
    failure.kind = FAILURE_OVERFLOW;
    assert_int_equal(retry_decide(&delay, &policy, &failure, 0, 0), RETRY_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_after_is_read_in_all_its_forms),
        cmocka_unit_test(responses_are_judged),
        cmocka_unit_test(the_most_precise_wish_counts),
        cmocka_unit_test(delays_grow_and_are_spread),
        cmocka_unit_test(the_servers_wish_has_a_limit),
        cmocka_unit_test(some_failures_are_tried_less_often_or_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
