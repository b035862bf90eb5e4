#pragma once

#include "base/json_writer.h"
#include "llm/history.h"
#include "llm/wire.h"

/** What the formats share when they build a request. */

/** When "/v1" is put before the path. */
enum wire_version {
    WIRE_VERSION_ALONE,  // when base is only a host
    WIRE_VERSION_ALWAYS, // unless base ends in it
};

/**
 * base and path as one URL. base may end in slashes, in "/v1" and in the path itself, and
 * keeps its query. PI_INVALID when it is no http URL.
 */
enum pi_status wire_url(struct buf *out, const char *base, enum wire_version version,
                        const char *path, struct pi_error *err) NODISCARD;

/** Appends a header. PI_INVALID when the value cannot stand in one; it is never quoted.
 */
enum pi_status wire_header(struct buf *out, const char *name, const char *value,
                           struct pi_error *err) NODISCARD;

/** Appends "authorization: Bearer KEY". */
enum pi_status wire_bearer(struct buf *out, const char *key,
                           struct pi_error *err) NODISCARD;

/** Whether the host of base is this one or below it ("openrouter.ai"). */
bool wire_is_host(const char *base, const char *host);

/** How many tokens an answer may have: what the model, the window and earlier refusals
 * allow. extra: on top of the usual, for thinking. */
int64_t wire_max_tokens(const struct wire_input *input, int64_t extra);
