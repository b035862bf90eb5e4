#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

/**
 * What pi-mock is to do: a JSON file, described in tests/support/mock.md. Constant once
 * loaded, so that the connections may share it.
 */

/** Loads and checks a script; prints what is wrong and gives NULL. */
struct json *script_load(const char *path);

/** Turn k, repeats counted; NULL beyond the last one. */
const struct json *script_turn(const struct json *script, size_t k);

/** Whether a request is what the turn expects; if not, words say what is missing. */
bool script_expects(const struct json *turn, const struct json *body, struct buf *words);
