#pragma once

#include "agent/agent.h"

/** One answer of the model, and whether it is asked again. On the agent thread. */

/** Makes a->http, if there is none yet. */
enum pi_status ask_connect(struct pi_agent *a, struct pi_error *err) NODISCARD;

/** What to do after an answer. */
struct ask_outcome {
    bool continue_turn;         // the model paused: ask again
    struct llm_failure failure; // of one that failed
};

/**
 * Asks the model once and shows the answer as it arrives. The answer, complete, failed or
 * aborted; NULL without memory.
 */
struct message *ask_model(struct pi_agent *a, struct cancel *cancel,
                          struct ask_outcome *outcome);

/**
 * To be called after each turn with its answer: when that failed and another try may
 * help, shows so, waits as long as it takes, and returns true. *retries counts those
 * since the last answer that arrived.
 */
bool ask_again(struct pi_agent *a, struct cancel *cancel, const struct message *answer,
               const struct llm_failure *failure, unsigned *retries);
