#include "llm/refusal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "llm/retry.h"
#include "net/url.h"
#include "sys/clock.h"

enum { SECRET_MIN = 4 }; // shorter ones are words of the language

static const char *advice(const struct llm_failure *f)
{
    return f->kind == FAILURE_OVERFLOW
               ? "The conversation does not fit into the context window of the model; "
                 "start a new one, or choose a model with a larger window. "
               : "";
}

struct llm_failure refusal_tell(struct buf *words, const char *host, int status,
                                const struct error_body *told, struct http_call *call)
{
    const struct retry_evidence evidence = {
        .status = status,
        .words = buf_sv(&told->words),
        .kind = buf_sv(&told->kind),
        .should_retry = http_header(call, "x-should-retry"),
        .retry_after = http_header(call, "retry-after"),
        .retry_after_ms = http_header(call, "retry-after-ms"),
        .hint_ms = told->retry_after_ms,
        .now_unix_ms = clock_unix_ms(),
    };
    struct llm_failure failure = retry_judge(&evidence);
    buf_addf(words, "%s%s answered ", advice(&failure), host);
    if (status) {
        buf_addf(words, "%d: ", status);
    } else {
        buf_adds(words, "with an error: ");
    }
    buf_adds(words, told->words.len ? buf_cstr(&told->words) : "(no words)");
    if (!buf_ok(&told->words)) {
        words->failed = true;
    }
    return failure;
}

void refusal_tell_redirect(struct buf *words, const char *host, int status,
                           const char *location)
{
    buf_addf(words, "%s answered %d: moved ", host, status);
    if (!location) {
        buf_adds(words, "elsewhere");
    } else if (strstr(location, "://")) {
        buf_adds(words, "to ");
        url_show(words, sv_of(location));
    } else {
        buf_adds(words, "to ");
        buf_add(words, location, strcspn(location, "?#"));
    }
    buf_adds(words, "; correct the base URL of this model");
}

void refusal_hide(struct buf *words, const char *secret)
{
    size_t n = secret ? strlen(secret) : 0;
    struct sv rest = buf_sv(words);
    if (n < SECRET_MIN || rest.n < n || !memmem(rest.p, rest.n, secret, n)) {
        return;
    }
    struct buf clean = {0};
    for (const char *at; rest.n > 0 && (at = memmem(rest.p, rest.n, secret, n));) {
        buf_add(&clean, rest.p, (size_t)(at - rest.p));
        buf_adds(&clean, "[key]");
        rest = sv_from(rest, (size_t)(at - rest.p) + n);
    }
    buf_addsv(&clean, rest);
    buf_finish(words);
    *words = clean;
}

static bool carries_key(struct sv name)
{
    static const char *const parts[] = {"auth", "key", "token", "secret", "cookie"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i]);
        for (size_t k = 0; k + n <= name.n; k++) {
            if (strncasecmp(name.p + k, parts[i], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

void refusal_hide_headers(struct buf *words, const char *const *lines)
{
    for (; lines && *lines; lines++) {
        size_t n = strcspn(*lines, ":");
        if ((*lines)[n] == '\0' || !carries_key(sv_make(*lines, n))) {
            continue;
        }
        const char *value = *lines + n + 1;
        value += strspn(value, " ");
        refusal_hide(words, value);
        const char *space = strchr(value, ' '); // "Bearer KEY"
        refusal_hide(words, space ? space + 1 : NULL);
    }
}
