#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"
#include "llm/provider.h"

/**
 * Whether and when a request that failed is worth another try. Pure: no clock, no
 * network, no random numbers of its own.
 */

/** What is known of a response that was no answer. Zeroed members are unknown. */
struct retry_evidence {
    int status;               // of the response or of the error inside the stream
    struct sv words;          // what the server said
    struct sv kind;           // its types and codes
    const char *should_retry; // headers; NULL = absent
    const char *retry_after, *retry_after_ms;
    int64_t hint_ms;     // what the words asked for
    int64_t now_unix_ms; // for a Retry-After that is a date
};

/** Judges a response that was no answer. */
struct llm_failure retry_judge(const struct retry_evidence *evidence);

struct retry_policy {
    bool enabled;
    unsigned max_retries;
    int64_t base_delay_ms; // doubled with each retry
    int64_t max_delay_ms;  // a server that asks for more is not waited for
};

#define RETRY_POLICY_DEFAULT                                                             \
    ((struct retry_policy){.enabled = true,                                              \
                           .max_retries = 3,                                             \
                           .base_delay_ms = 2000,                                        \
                           .max_delay_ms = 60 * 1000})

enum retry_verdict {
    RETRY_NO,       // another try would not help, or there were enough
    RETRY_WAIT,     // after *delay_ms
    RETRY_TOO_LONG, // the server wants a pause of *delay_ms, which is more than allowed
};

/** done: retries so far. dice: a random number, for spreading clients over time. */
enum retry_verdict retry_decide(int64_t *delay_ms, const struct retry_policy *policy,
                                const struct llm_failure *failure, unsigned done,
                                uint32_t dice);

/** Milliseconds that Retry-After asks for: seconds or a date; 0 when it asks for nothing
 * that makes sense (garbage, negative, past). */
int64_t retry_after_parse(const char *value, int64_t now_unix_ms);
