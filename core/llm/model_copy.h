#pragma once

#include "base/error.h"
#include "llm/model.h"

/** A model that outlives its table. A zeroed struct holds none. */
struct model_copy {
    struct model model;
    struct json *tree; // what it points into
};

enum pi_status model_copy_init(struct model_copy *out, const struct model *m,
                               struct pi_error *err) NODISCARD;

void model_copy_finish(struct model_copy *c); // accepts NULL

/**
 * A model for faces, in the form of models.json with its provider: never a key or a
 * header. NULL without memory.
 */
struct json *model_json(const struct model *m);
