#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * What has arrived of a call's arguments, for showing the call while it streams; never
 * for running it. An open string ends where it is, a member without a value is left out,
 * text that is no JSON at all gives {}. The caller owns *out; *complete tells whether the
 * text is one whole value. O(n), so call it when there is something to draw, not for each
 * delta. Only PI_NOMEM fails.
 */
enum pi_status partial_json(struct json **out, bool *complete, struct sv text,
                            struct pi_error *err) NODISCARD;
