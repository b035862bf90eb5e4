#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/** A private copy of an environment: "K=V" strings. A zeroed struct is empty. Not
 * thread-safe. */
struct env {
    char **vars; // NULL-terminated when not NULL
    size_t len, cap;
};

/**
 * Copies list (NULL-terminated), or the process's own environment when list is NULL. Of
 * several entries of one name the first counts; one without "=" hides later ones and is
 * left out itself (both as Emacs means its process-environment).
 */
enum pi_status env_copy(struct env *out, const char *const *list,
                        struct pi_error *err) NODISCARD;

void env_finish(struct env *e);

/** The value, NULL when not set. Borrowed until the next change. */
const char *env_get(const struct env *e, const char *name);

/** Sets or replaces; false without memory. */
bool env_set(struct env *e, const char *name, const char *value) NODISCARD;

void env_unset(struct env *e, const char *name);

/** Removes every variable whose name starts with prefix. */
void env_unset_prefix(struct env *e, const char *prefix);
