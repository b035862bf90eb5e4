#pragma once

#include <stdbool.h>

#include <emacs-module.h>

#include "host.h"
#include "pi.h"
#include "wake.h"

/** An agent as Lisp holds it, a user pointer. */
struct handle {
    pi_agent *agent; // NULL once it was destroyed
    struct wake wake;
    struct drain *drain; // the one under way
};

/** A zeroed handle without a channel; NULL with a signal in env. */
struct handle *handle_create(emacs_env *env);

/** Ends the agent and frees the handle; blocks as pi_agent_destroy() does. */
void handle_destroy(struct handle *h);

/** The handle becomes a Lisp value; NULL with a signal in env, and it is freed. */
emacs_value handle_value(emacs_env *env, struct handle *h);

/** The handle in a Lisp value; NULL with a signal in env when it is none of ours. */
struct handle *handle_of(emacs_env *env, emacs_value value);

/** The agent that lives in a Lisp value; NULL with a signal in env. */
pi_agent *handle_agent(emacs_env *env, emacs_value value);
