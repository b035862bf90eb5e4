#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/sv.h"

/**
 * A growable byte buffer that remembers failure.
 *
 * A zeroed struct is a valid empty buffer. Appending returns nothing: once an allocation
 * failed, later appends do nothing and buf_ok() says so, so a function that builds a text
 * checks once, at its end. data is NUL-terminated whenever it is not NULL; len does not
 * count that NUL. Not thread-safe.
 */
struct buf {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

/** Frees the bytes and makes the buffer empty and healthy again. Accepts NULL. */
void buf_finish(struct buf *b);

/** Empties the buffer, keeps its memory, forgets a failure. */
void buf_clear(struct buf *b);

/** False when an append was lost for want of memory. */
bool buf_ok(const struct buf *b);

/** Makes room for `more` bytes beyond len; false (and failed) without memory. */
bool buf_reserve(struct buf *b, size_t more);

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *text);
void buf_addsv(struct buf *b, struct sv text);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *format, ...) PRINTF(2, 3);
void buf_vaddf(struct buf *b, const char *format, va_list args) PRINTF(2, 0);

/** Shortens the buffer to n bytes; does nothing when it is shorter already. */
void buf_truncate(struct buf *b, size_t n);

/** Removes n bytes (at most len) from the front. O(len). */
void buf_drop(struct buf *b, size_t n);

/** The content as a C string, "" when empty; lives until the next change. */
const char *buf_cstr(const struct buf *b);

/** The content as a slice; lives until the next change. */
struct sv buf_sv(const struct buf *b);

/**
 * Hands the bytes over: NUL-terminated, to be freed by the caller, NULL when the buffer
 * had failed or memory ran out. The buffer is empty afterwards.
 */
char *buf_take(struct buf *b);
