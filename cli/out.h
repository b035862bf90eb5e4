#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/sv.h"

struct mainloop;

/**
 * A buffered writer to a descriptor that others may leave blocked or close: while it
 * waits for room, signals are served. What cannot be written is dropped, and for a
 * required descriptor the loop is told to leave. A zeroed struct with fd set is ready.
 */
struct out {
    int fd;
    struct mainloop *loop; // NULL: waits without serving signals
    bool required;         // the program is pointless without it
    bool broken;           // nothing can be written any more
    struct buf buf;
};

/** Adds bytes; writes when much has gathered. */
void out_add(struct out *o, struct sv text);
void out_adds(struct out *o, const char *text);

/** Writes all that was added. False when it could not. */
bool out_flush(struct out *o);

void out_finish(struct out *o); // does not flush
