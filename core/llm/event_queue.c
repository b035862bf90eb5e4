#include "llm/event_queue.h"

#include <stdlib.h>

#include "base/vec.h"

struct event_queue_entry {
    struct llm_event event;
    size_t offset; // of its delta in texts, which may move
};

void event_queue_finish(struct event_queue *q)
{
    free(q->entries);
    buf_finish(&q->texts);
    *q = (struct event_queue){0};
}

bool event_queue_push(struct event_queue *q, const struct llm_event *event)
{
    struct event_queue_entry *grown =
        vec_grow(q->entries, &q->cap, q->len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    q->entries = grown;
    grown[q->len] = (struct event_queue_entry){.event = *event, .offset = q->texts.len};
    buf_addsv(&q->texts, event->delta);
    if (!buf_ok(&q->texts)) {
        return false;
    }
    q->len++;
    return true;
}

bool event_queue_pop(struct event_queue *q, struct llm_event *event)
{
    if (q->at == q->len) {
        q->at = q->len = 0;
        buf_clear(&q->texts);
        return false;
    }
    const struct event_queue_entry *e = &q->entries[q->at++];
    *event = e->event;
    event->delta = sv_make(buf_cstr(&q->texts) + e->offset, e->event.delta.n);
    return true;
}
