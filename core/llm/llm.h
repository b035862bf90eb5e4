#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * The plain types of a conversation with a model. Names and JSON forms are those of
 * session files and events (doc/events.md).
 */

enum block_type { BLOCK_TEXT, BLOCK_THINKING, BLOCK_IMAGE, BLOCK_TOOL_CALL };

/** One block of content. A zeroed struct is an empty text block. */
struct block {
    enum block_type type;
    struct buf text; // text, thinking, base64 of an image, or the arguments as they came
    char *signature; // text, thinking, tool call: to be sent back byte for byte, or NULL
    bool redacted;   // thinking
    char *mime_type; // image
    char *id;        // tool call
    char *name;      // tool call
    bool complete;   // tool call: the arguments arrived whole
};

void block_finish(struct block *b);

/** Content of a message or of a tool's result. A zeroed struct is empty. */
struct content {
    struct block *blocks;
    size_t len, cap;
};

void content_finish(struct content *c);

/** Appends a zeroed block; NULL without memory. Earlier pointers to blocks become
 * invalid. */
struct block *content_add(struct content *c, enum block_type type);

/** Appends a text block; false without memory. */
bool content_add_text(struct content *c, struct sv text) NODISCARD;

bool content_copy(struct content *out, const struct content *from) NODISCARD;

/** All text blocks joined with LF. */
void content_text(const struct content *c, struct buf *out);

/** One block as a JSON object; NULL without memory. */
struct json *block_json(const struct block *b);

/** The content as a JSON array; NULL without memory. */
struct json *content_json(const struct content *c);

/** Reads the JSON form, or a text alone. Blocks of an unknown type are left out.
 * PI_INVALID. */
enum pi_status content_parse(struct content *out, const struct json *j,
                             struct pi_error *err) NODISCARD;

/** Tokens; input excludes cached ones. Cost in US dollars. */
struct usage {
    int64_t input, output, cache_read, cache_write, total;
    double cost_input, cost_output, cost_cache_read, cost_cache_write, cost_total;
};

enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL_RESULT };

enum stop_reason { STOP_STOP, STOP_LENGTH, STOP_TOOL_USE, STOP_ERROR, STOP_ABORTED };

const char *stop_reason_name(enum stop_reason reason);

/** A message of the transcript: constant once it is there, so that events may share it.
 */
struct message {
    atomic_uint shares; // references besides the first one
    enum role role;
    struct content content;
    int64_t timestamp_ms;

    // assistant
    char *api, *provider, *model, *response_id;
    struct usage usage;
    enum stop_reason stop_reason;
    char *error_message;

    // tool result
    char *tool_call_id, *tool_name;
    struct json *details; // for faces, never for the model
    bool is_error;
};

/** A new message stamped with the time; NULL without memory. */
struct message *message_create(enum role role);

/** One more reference; any thread. */
struct message *message_share(struct message *m);

/** Drops a reference; the last one frees. Accepts NULL. */
void message_destroy(struct message *m);

/** The JSON form; NULL without memory. Incomplete arguments of a tool call appear as {}.
 */
struct json *message_json(const struct message *m);

/**
 * Reads the JSON form, leniently: what is missing is empty, what is unknown is left out.
 * PI_UNSUPPORTED: a role that is not ours. PI_INVALID: no content, or a result that names
 * no call.
 */
enum pi_status message_parse(struct message **out, const struct json *j,
                             struct pi_error *err) NODISCARD;
