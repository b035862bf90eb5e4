#pragma once

#include "agent/model_choice.h"
#include "llm/models_match.h"

/**
 * From what the user asks for to a model: the table, the keys, the servers on this
 * machine. On the agent thread; blocks while servers are asked.
 */

struct model_wish {
    enum choice_origin origin;
    const char *provider, *pattern; // NULL = any
};

/** What was found. */
struct model_found {
    struct model_copy copy;
    bool level_given; // by ":level"
    enum thinking_level level;
};

/** PI_NOT_FOUND, PI_INVALID: the message says what to do. PI_NOMEM, PI_ABORTED. */
enum pi_status model_find(struct pi_agent *a, struct model_found *out,
                          const struct model_wish *wish, struct cancel *cancel,
                          struct pi_error *err) NODISCARD;

/**
 * The table with the models of the servers on this machine; answered gets the names of
 * those that are there. The caller destroys it.
 */
enum pi_status model_table(struct pi_agent *a, struct models **out, struct buf *answered,
                           struct cancel *cancel, struct pi_error *err) NODISCARD;

/** Whether a model can be asked. */
bool model_can_ask(const void *agent, const struct model *m);
