#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

/** The body of an answer, in the form of an API. A zeroed struct is empty. */
struct answer {
    struct buf bytes;
    size_t *ends; // where each event ends
    size_t len, cap;
    struct json *content; // what the answer says, as a later request may send it back
    bool stream;          // else one JSON object
};

void answer_finish(struct answer *a);

/** Marks the end of an event. */
void answer_mark(struct answer *a);

/** Turns the turn's blocks into an answer; n tells the answers apart. */
void format_answer(struct answer *out, const char *api, const struct json *turn,
                   const struct json *request, size_t n);

/** What the API says on failure: {"error": ...}. */
void format_error(struct buf *out, const char *api, int status, const char *message);

/** Packs the bytes as gzip, without making them smaller; the ends follow. */
void answer_gzip(struct answer *a);

/* -- for the formats -- */

struct writer {
    struct answer *out;
    const struct json *turn, *request;
    size_t n;
    const char *line_end;
};

/** Writes an event with the turn's habits; takes data over. */
void write_event(struct writer *w, const char *name, struct json *data);
void write_event_text(struct writer *w, const char *name, const char *data);

/**
 * The pieces that a text arrives in: characters stay whole. False at the end; *at starts
 * at 0.
 */
bool next_piece(const struct json *turn, struct sv text, size_t *at, struct sv *piece);

/** The text of a block of this kind: text, repeated text or arguments. */
void block_text(struct buf *out, const struct json *block);

/** The id of the call in block b; owned by out. */
const char *call_id(struct buf *out, const struct json *call, const char *prefix,
                    size_t n, size_t b);

void format_anthropic(struct writer *w);
void format_chat(struct writer *w);
