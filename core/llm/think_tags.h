#pragma once

#include "base/buf.h"
#include "base/sv.h"

/**
 * Parts "<think>...</think>" at the start of an answer from the answer itself; some
 * servers leave it to their clients. A push parser: any split gives the same. A zeroed
 * struct is the start.
 */
struct think_tags {
    enum { TAGS_START, TAGS_INSIDE, TAGS_BEHIND, TAGS_OVER } state;
    struct buf held; // what may be a part of a tag
};

void think_tags_finish(struct think_tags *t);

/** Appends what is decided of the next text; thinking comes before all text. */
void think_tags_feed(struct think_tags *t, struct sv text, struct buf *thinking,
                     struct buf *answer);

/** The answer is over: what is held was no tag. */
void think_tags_end(struct think_tags *t, struct buf *thinking, struct buf *answer);
