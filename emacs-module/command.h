#pragma once

#include <emacs-module.h>

#include "pi.h"

/**
 * What Lisp asks of an agent beside prompts and answers: NAME, a symbol of the table in
 * command.c, with FIELDS, a vector for fields_read(). Signals what goes wrong at once;
 * results come as events.
 */
void command_run(emacs_env *env, pi_agent *agent, emacs_value name, emacs_value fields);

/** What an agent can say about itself, as a unibyte string or nil. */
emacs_value command_info(emacs_env *env, pi_agent *agent, emacs_value name);
