#pragma once

#include "base/error.h"
#include "base/sv.h"
#include "host/host.h"

/**
 * The changes that turn one text into another by whole lines: *out (caller frees; NULL
 * when the texts are the same) borrows its texts from `after`. PI_NOMEM.
 */
enum pi_status line_changes_make(struct host_change **out, size_t *len, struct sv before,
                                 struct sv after, struct pi_error *err) NODISCARD;
