#include "agent/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void queue_finish(struct message_queue *q)
{
    for (size_t i = 0; i < q->len; i++) {
        message_destroy(q->items[i]);
    }
    free(q->items);
    *q = (struct message_queue){.all = q->all};
}

static bool reserve(struct message_queue *q, size_t more)
{
    void *grown = vec_grow(q->items, &q->cap, q->len + more, sizeof *q->items);
    if (grown) {
        q->items = grown;
    }
    return grown;
}

bool queue_push(struct message_queue *q, struct message *message)
{
    if (!message || !reserve(q, 1)) {
        message_destroy(message);
        return false;
    }
    q->items[q->len++] = message;
    return true;
}

bool queue_take(struct message_queue *q, struct message_queue *out)
{
    size_t n = q->all ? q->len : (q->len > 0);
    if (n == 0) {
        return true;
    }
    if (!reserve(out, n)) {
        return false;
    }
    memcpy(out->items + out->len, q->items, n * sizeof *q->items);
    out->len += n;
    q->len -= n;
    memmove(q->items, q->items + n, q->len * sizeof *q->items);
    return true;
}

struct json *queue_json(const struct message_queue *q)
{
    struct json *list = json_new_array();
    for (size_t i = 0; list && i < q->len; i++) {
        struct buf text = {0};
        content_text(&q->items[i]->content, &text);
        bool ok = buf_ok(&text) && json_push(list, json_new_string(buf_sv(&text)));
        buf_finish(&text);
        if (!ok) {
            json_destroy(list);
            list = NULL;
        }
    }
    return list;
}
