#pragma once

#include "llm/wire.h"

/**
 * What all formats do while they decode an answer: add to blocks, tell what was added,
 * keep within limits. Functions that add return false without memory.
 */

/** Starts an answer: the ids that the conversation has used are no longer free. */
bool wire_answer_begin(struct wire_answer *a, const struct wire_input *input,
                       struct message *message) NODISCARD;

void wire_answer_finish(struct wire_answer *a);

/** Forgets the events of the last decode. */
void wire_answer_begin_events(struct wire_answer *a);

/** Makes the deltas point into a->bytes, which has stopped growing; PI_NOMEM when
 * something was lost. */
enum pi_status wire_answer_end_events(struct wire_answer *a,
                                      struct pi_error *err) NODISCARD;

/** Opens a block at the end of the message and tells it; *index is its place. */
bool wire_answer_open(struct wire_answer *a, enum block_type type,
                      size_t *index) NODISCARD;

/** Appends text to a block and tells it; nothing is told about an empty one. */
bool wire_answer_add(struct wire_answer *a, size_t index, struct sv text) NODISCARD;

/** Tells that a block is whole. */
bool wire_answer_close(struct wire_answer *a, size_t index) NODISCARD;

/** The answer failed: the first failure counts. */
void wire_answer_fail(struct wire_answer *a, int status, const char *format, ...)
    PRINTF(3, 4);

/** The answer failed with an error of the server: JSON of any shape, or text. */
void wire_answer_fail_told(struct wire_answer *a, struct sv told);

/** Sets *out to a copy of text unless text is NULL or empty. */
bool wire_answer_set(char **out, const char *text) NODISCARD;

/** Gives a call an id that the conversation has not yet: id (may be NULL) as it is, or as
 * near to it as can be. Once for each call. */
bool wire_answer_set_id(struct wire_answer *a, size_t index, const char *id) NODISCARD;

/** No call of the message may run. */
void wire_answer_spoil_calls(struct wire_answer *a);

/** Whether the message has a block of this type. */
bool wire_answer_has(const struct wire_answer *a, enum block_type type);

/** A token count: numbers that cannot be one are 0. */
int64_t wire_answer_tokens(const struct json *object, const char *key);

/** Fills total and cost from the counts. */
void wire_answer_price(struct usage *u, const struct model_cost *cost);
