#pragma once

#include "base/buf.h"
#include "llm/error_body.h"
#include "llm/provider.h"
#include "net/http.h"

/** Responses that are no answers, in words for people. Servers echo keys: the agent takes
 * these out, for all that it shows. */

/**
 * Judges an error that the server described and appends the words for it. status: of the
 * response; below 300 the one inside the error counts, which nobody was sent and which is
 * not shown. call gives the headers.
 */
struct llm_failure refusal_tell(struct buf *words, const char *host, int status,
                                const struct error_body *told, struct http_call *call);

/** Appends the words for a redirect, which is not followed. location may be NULL. */
void refusal_tell_redirect(struct buf *words, const char *host, int status,
                           const char *location);
