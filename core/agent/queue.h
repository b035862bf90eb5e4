#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/json.h"
#include "llm/llm.h"

/** A list of owned messages: a queue of steering or follow-up messages, or what a turn
 * adds. */
struct message_queue {
    struct message **items;
    size_t len, cap;
    bool all; // queue_take takes all at once instead of one
};

void queue_finish(struct message_queue *q);

/** Takes message over, also on failure (then it is freed). */
bool queue_push(struct message_queue *q, struct message *message) NODISCARD;

/** Moves the next message, or all of them, to the end of out. False without memory: none
 * lost. */
bool queue_take(struct message_queue *q, struct message_queue *out) NODISCARD;

/** The texts as a JSON array; NULL without memory. */
struct json *queue_json(const struct message_queue *q);
