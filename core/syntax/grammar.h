#pragma once

#include "base/error.h"
#include "base/log.h"
#include "sys/env.h"

/**
 * The tree-sitter grammars of this machine, loaded when a language is first asked for.
 * That there are none is a normal state.
 *
 * They are looked for in this order: the folders of PI_GRAMMAR_PATH (separated by
 * colons), those that were installed with pi, those of Emacs, those of Neovim, those of
 * the system. Loading one runs its code, so a file is refused when it or its folder
 * belongs to somebody else than root or the user, or may be written by others. What is
 * refused, also for a version of the interface that the library does not take, gets one
 * line in the log, and the search goes on.
 *
 * Thread-safe. No lock is held while a file is loaded. What was loaded stays loaded for
 * the life of the process.
 */
struct grammars;
struct TSLanguage;

/** environment and log are borrowed until destroy; log may be NULL. Loads nothing. */
enum pi_status grammars_create(struct grammars **out, const struct env *environment,
                               struct log *log, struct pi_error *err) NODISCARD;

void grammars_destroy(struct grammars *g); // accepts NULL

/**
 * The grammar of a language as language_of() names it; static. NULL when g or language is
 * NULL or there is no grammar.
 */
const struct TSLanguage *grammars_get(struct grammars *g, const char *language);
