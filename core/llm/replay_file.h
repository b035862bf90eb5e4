#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * A file of recorded turns (doc/replay.md), read and checked: every value has the type
 * that the readers below expect. A zeroed struct is empty.
 */
struct replay_file {
    struct json *root;
};

/** PI_INVALID names the turn, the key and what is wrong. */
enum pi_status replay_file_parse(struct replay_file *out, struct sv text,
                                 struct pi_error *err) NODISCARD;
void replay_file_finish(struct replay_file *f);

/** Number of turns, repeated ones counted as often as they repeat. */
size_t replay_file_len(const struct replay_file *f);

/** Turn k, counted from 0; NULL beyond the end. */
const struct json *replay_file_turn(const struct replay_file *f, size_t k);
