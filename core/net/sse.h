#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * Server-sent events as a push parser: bytes in, events out, split anywhere. Lines end in
 * LF, CRLF or CR, mixed. Several data lines are joined with LF; comments and unknown
 * fields are skipped; a byte order mark at the start is skipped.
 */

/** An event larger than this is an error: nobody sends such a thing on purpose. */
enum { SSE_EVENT_MAX = 64 * 1024 * 1024 };

/** Both slices are borrowed for the duration of the call. name is "" when none was given.
 */
struct sse_event {
    struct sv name;
    struct sv data;
};

/** Returns false to stop: later bytes are ignored. */
typedef bool (*sse_handler)(void *data, const struct sse_event *event);

/** A zeroed struct is the start of a stream. */
struct sse {
    struct buf line;
    struct buf name;
    struct buf data;
    bool has_data;
    bool after_cr; // a LF now belongs to the line end that CR began
    unsigned bom;  // bytes of a byte order mark seen so far; 4 = past the start
    bool stopped;
};

void sse_finish(struct sse *s);

/**
 * Takes the next bytes and hands over each finished event. PI_LIMIT when an event grows
 * beyond SSE_EVENT_MAX, PI_NOMEM; the stream cannot go on after either.
 */
enum pi_status sse_feed(struct sse *s, struct sv bytes, sse_handler handler, void *data,
                        struct pi_error *err) NODISCARD;

/**
 * End of the stream: hands over an event whose blank line is missing, if it has data.
 * Whether it is whole is for the receiver to judge; a half line is not part of it.
 */
void sse_end(struct sse *s, sse_handler handler, void *data);
