#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "sys/walk.h"
#include "tool/tool.h"

/**
 * What grep, find and ls have in common: rows of text, one thing found in each, and below
 * them what the model must know.
 */
struct rows {
    struct buf text;      // each row ends in LF
    struct buf notes;     // "[...]" each, LF between them
    struct json *details; // may be NULL
    bool escaped;         // a name could not be shown as it is
};

void rows_finish(struct rows *r);

/**
 * Appends a name. One with control characters or bytes that are not UTF-8 is written as
 * $'...', which bash understands, so that a row stays a row.
 */
void rows_add_name(struct rows *r, struct sv name);

/** Starts a note; the caller writes the rest of it up to "]" to r->notes. */
void rows_begin_note(struct rows *r);

/** Sets a number of the details; false without memory. */
bool rows_detail(struct rows *r, const char *key, size_t value) NODISCARD;

/** The argument "limit": at least 1, else PI_INVALID. */
enum pi_status rows_limit(size_t *limit, const struct json *args, size_t usual,
                          struct pi_error *err) NODISCARD;

/** Where a walk finds its rules, from the call's environment. */
struct ignore_places rows_places(const struct tool_context *context);

/** Appends "3 entries left out by ignore rules (...), ..." or nothing; true if any. */
bool rows_add_skipped(struct buf *out, const struct walk_report *report);

/** Rows up to the byte cap and the notes. r is empty afterwards. PI_NOMEM. */
enum pi_status rows_result(struct tool_result *result, struct rows *r,
                           struct pi_error *err) NODISCARD;
