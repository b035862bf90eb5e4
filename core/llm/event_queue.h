#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "llm/provider.h"

/** Events of an answer that wait to be taken, with copies of their texts. A zeroed struct
 * is empty. */
struct event_queue {
    struct event_queue_entry *entries;
    size_t at, len, cap;
    struct buf texts;
};

void event_queue_finish(struct event_queue *q);

/** False without memory. */
bool event_queue_push(struct event_queue *q, const struct llm_event *event) NODISCARD;

/** Takes the oldest event; false when there is none. Its delta lives until the queue is
 * next pushed to or found empty. */
bool event_queue_pop(struct event_queue *q, struct llm_event *event);
