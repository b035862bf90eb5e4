#pragma once

#include <stdbool.h>

#include <emacs-module.h>

#include "fields.h"
#include "pi.h"

/** The options of an agent, as Lisp gives them; what they point to belongs to texts. */
struct options {
    struct pi_agent_options pi;
    struct field_texts texts;
    struct pi_key *keys;
    const char *const *key_texts; // provider, key, provider, key, ...
    bool yolo;
};

/** Reads a vector [:cwd "/dir" ...]. False with a signal in env; finish it anyway. */
bool options_read(emacs_env *env, emacs_value vector, struct options *o);
void options_finish(struct options *o);
