#include "llm/retry.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "llm/overflow.h"

// A call that came out wrong is a matter of luck; two more tries are enough to tell.
enum { RESAMPLE_MAX = 2 };

/* -- Retry-After -- */

// Digits with perhaps a fraction, in thousandths; -1 for anything else.
static int64_t parse_decimal(const char *text)
{
    static const int64_t most = INT64_C(1000000000000000);
    int64_t value = 0;
    int64_t unit = 1000;
    text += strspn(text, " \t");
    if (*text < '0' || *text > '9') {
        return -1;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value < most ? value * 10 + (*text - '0') * 1000 : value;
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            value += (*text - '0') * unit;
        }
    }
    return text[strspn(text, " \t")] == '\0' ? value : -1;
}

// Days from 1970-01-01 to a day of the Gregorian calendar.
static int64_t days_to(int64_t year, int month, int day)
{
    // Years that begin in March end with the leap day.
    year -= month <= 2;
    int64_t era = year / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// "Wed, 21 Oct 2026 07:28:00 GMT"; -1 for anything else. strptime would read the names of
// the months in the language of the program around us.
static int64_t parse_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char name[4] = "";
    char zone[4] = "";
    int day, year, hour, minute, second;
    int n = sscanf(text, " %*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3[A-Z]", &day,
                   name, &year, &hour, &minute, &second, zone);
    const char *at = n == 7 ? strstr(months, name) : NULL;
    if (!at || strlen(name) != 3 || (at - months) % 3 != 0 || year < 1970 || day < 1 ||
        strcmp(zone, "GMT") != 0) {
        return -1;
    }
    int64_t days = days_to(year, (int)((at - months) / 3) + 1, day);
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
}

int64_t retry_after_parse(const char *value, int64_t now_unix_ms)
{
    if (!value) {
        return 0;
    }
    int64_t ms = parse_decimal(value);
    if (ms < 0) {
        ms = parse_date(value);
        ms = ms < 0 ? 0 : ms - now_unix_ms;
    }
    return ms > 0 ? ms : 0;
}

static int64_t asked_delay(const struct retry_evidence *e)
{
    int64_t thousandths = e->retry_after_ms ? parse_decimal(e->retry_after_ms) : -1;
    int64_t ms = thousandths > 0 ? (thousandths + 999) / 1000 : 0;
    if (ms == 0) {
        ms = retry_after_parse(e->retry_after, e->now_unix_ms);
    }
    return ms > 0 ? ms : e->hint_ms;
}

/* -- judging -- */

static bool says(const struct retry_evidence *e, const char *const *phrases)
{
    for (; *phrases; phrases++) {
        size_t n = strlen(*phrases);
        for (size_t i = 0; i + n <= e->words.n; i++) {
            if (strncasecmp(e->words.p + i, *phrases, n) == 0) {
                return true;
            }
        }
        for (size_t i = 0; i + n <= e->kind.n; i++) {
            if (strncasecmp(e->kind.p + i, *phrases, n) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_quota(const struct retry_evidence *e)
{
    static const char *const phrases[] = {
        "insufficient_quota",
        "exceeded your current quota",
        "billing",
        "usage limit",
        "usage_limit",
        "PerDay",
        "credit balance",
        "insufficient balance",
        "insufficient credits",
        NULL,
    };
    static const char *const codes[] = {"1308", NULL};
    struct retry_evidence kind_only = {.kind = e->kind};
    return says(e, phrases) || says(&kind_only, codes);
}

static bool is_sampling(const struct retry_evidence *e)
{
    static const char *const phrases[] = {
        "tool_use_failed",
        "failed to parse tool call",
        "error parsing tool call",
        NULL,
    };
    return (e->status == 400 || e->status == 500 || e->status == 0) && says(e, phrases);
}

static bool status_passes(int status)
{
    static const int passing[] = {408, 409, 425, 429, 500, 502, 503,
                                  504, 520, 521, 522, 523, 524, 529};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        if (passing[i] == status) {
            return true;
        }
    }
    return false;
}

// An error inside a stream, or with status 200, says by its words what a status would.
static bool words_refuse(const struct retry_evidence *e)
{
    static const char *const phrases[] = {
        "invalid_request", "invalid request", "authentication", "permission",
        "unauthorized",    "forbidden",       "not_found",      "not found",
        "invalid_api_key", "content_filter",  "unsupported",    NULL,
    };
    return says(e, phrases);
}

struct llm_failure retry_judge(const struct retry_evidence *e)
{
    struct llm_failure f = {.kind = FAILURE_FATAL, .status = e->status};
    if (overflow_is(e->status, e->words, e->kind)) {
        f.kind = FAILURE_OVERFLOW;
        return f;
    }
    if (is_quota(e)) {
        return f;
    }
    bool passes = e->status >= 300 ? status_passes(e->status) : !words_refuse(e);
    if (e->should_retry && strcasecmp(e->should_retry, "true") == 0) {
        passes = true;
    } else if (e->should_retry && strcasecmp(e->should_retry, "false") == 0) {
        passes = false;
    } else if (is_sampling(e)) {
        f.kind = FAILURE_RESAMPLE;
        return f;
    }
    if (passes) {
        f.kind = FAILURE_RETRY;
        f.retry_after_ms = asked_delay(e);
    }
    return f;
}

/* -- deciding -- */

// Between three quarters and all of it, so that clients do not come back together.
static int64_t spread(int64_t ms, uint32_t dice)
{
    return ms - (int64_t)((double)ms * 0.25 * (dice / 4294967296.0));
}

enum retry_verdict retry_decide(int64_t *delay_ms, const struct retry_policy *policy,
                                const struct llm_failure *failure, unsigned done,
                                uint32_t dice)
{
    *delay_ms = 0;
    bool resample = failure->kind == FAILURE_RESAMPLE;
    if (!policy->enabled || done >= policy->max_retries ||
        (!resample && failure->kind != FAILURE_RETRY) ||
        (resample && done >= RESAMPLE_MAX)) {
        return RETRY_NO;
    }
    if (failure->retry_after_ms > 0) {
        *delay_ms = failure->retry_after_ms;
        return *delay_ms > policy->max_delay_ms ? RETRY_TOO_LONG : RETRY_WAIT;
    }
    int64_t delay = policy->base_delay_ms;
    for (unsigned i = 0; i < done && delay < policy->max_delay_ms; i++) {
        delay *= 2;
    }
    delay = delay < policy->max_delay_ms ? delay : policy->max_delay_ms;
    *delay_ms = spread(delay, dice);
    return RETRY_WAIT;
}
