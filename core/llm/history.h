#pragma once

#include "llm/call_ids.h"
#include "llm/model.h"
#include "llm/provider.h"

/**
 * What of a transcript is sent to a model. Whatever the transcript holds, the result is
 * what the servers accept:
 *
 *  - answers that failed or were aborted are left out, with the results of their calls;
 *  - each call has exactly one result, right behind its message, in the order of the
 *    calls; a result without a call is left out;
 *  - ids of calls are unique and of the target's form, names of tools have legal letters;
 *  - arguments are one valid JSON object;
 *  - no text is blank, no message empty; a result without output says so;
 *  - texts are UTF-8 without NUL;
 *  - in an answer, the calls stand last;
 *  - images are of a kind and size that servers take and fit the model, else a note
 *    stands in their place;
 *  - thinking goes back to the model that made it, unchanged, when the target wants it;
 *    it never ends an answer;
 *  - messages of the user are merged, answers are parted by one; the first message is the
 *    user's, the last one is no answer.
 */

/** What becomes of thinking of the target's own model. Others' becomes text. */
enum history_thinking {
    HISTORY_THINKING_SIGNED, // kept when it has a signature, else text
    HISTORY_THINKING_KEEP,
    HISTORY_THINKING_TEXT,
    HISTORY_THINKING_DROP,
    HISTORY_THINKING_NONE, // that of other models is dropped, too
};

struct history_target {
    const struct model *model;
    enum call_id_rule ids;
    enum history_thinking thinking;
    bool no_images; // though the model takes them
};

/** As struct block; borrowed from the transcript or owned by the history. */
struct history_block {
    enum block_type type;
    struct sv text;        // text, thinking, base64, a JSON object
    const char *signature; // NULL unless the target's own model made it
    bool redacted;
    const char *mime_type; // image: what it is, not what it was called
    const char *id, *name; // tool call
};

struct history_message {
    enum role role;
    struct history_block *blocks; // at least one
    size_t len, cap;
    bool own;                 // answer: the target's own model made it
    const char *tool_call_id; // result
    const char *tool_name;    // result
    bool is_error;            // result
};

/** A zeroed struct is empty. */
struct history {
    struct history_message *messages; // at least one
    size_t len, cap;
    // Tools that the history calls though the request declares none: servers want them.
    const char **tool_names;
    size_t tool_names_len, tool_names_cap;
    char **owned;
    size_t owned_len, owned_cap;
};

void history_finish(struct history *h);

/** The request must outlive the history. PI_INVALID: there is nothing to send; PI_NOMEM.
 */
enum pi_status history_build(struct history *out, const struct llm_request *request,
                             const struct history_target *target,
                             struct pi_error *err) NODISCARD;
