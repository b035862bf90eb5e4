#pragma once

#include <emacs-module.h>

#include "pi.h"

/**
 * One drain: what the agent delivers becomes a Lisp list. Requests to the face are in it,
 * too; Lisp serves them afterwards, when it likes, and answers with
 * pi-module--answer-host. So no Lisp runs inside a dispatch.
 */
struct drain {
    emacs_env *env;
    emacs_value items; // newest first
};

/** Dispatches within the budget and returns (STATE . ITEMS): STATE is ok, more or
 * closed. */
emacs_value drain_run(emacs_env *env, pi_agent *agent, struct drain **current,
                      const struct pi_budget *budget);

/** The host of an agent; its host_data is a struct drain **, the drain under way. */
extern const struct pi_host drain_host;

/** Answers a request: STATUS is a symbol, fields a vector for fields_read(). */
void drain_answer(emacs_env *env, pi_agent *agent, emacs_value *args);
