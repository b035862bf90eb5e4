#include "llm/refusal.h"

#include <string.h>

#include "llm/retry.h"
#include "net/url.h"
#include "sys/clock.h"

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
        .status = status >= 300 ? status : told->status,
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
    if (status >= 300) {
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
