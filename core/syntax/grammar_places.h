#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sv.h"
#include "sys/env.h"

/**
 * Calls visit with the path of every file that may hold the grammar of `language`, in the
 * order of grammar.h, until it returns false. The files exist; nothing else was looked
 * at. False without memory.
 */
bool grammar_places(const struct env *environment, const char *language,
                    bool (*visit)(void *data, const char *path), void *data) NODISCARD;
