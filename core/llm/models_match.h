#pragma once

#include "llm/models.h"

/**
 * Finds the model that a user means: "id", "provider/id", a part of an id or name, each
 * with ":level" behind it if wanted.
 */

/** Whether a model can be asked as things are, e.g. whether there is a key for it. */
struct model_judge {
    bool (*can_ask)(const void *data, const struct model *m);
    const void *data;
};

struct model_match {
    const struct model *model;             // NULL: the table has no such id; then
    const struct model_provider *provider; // the provider that was named
    struct sv id;                          // and the id in the pattern
    bool level_given;
    enum thinking_level level;
};

/**
 * provider may be NULL. Of several models that fit, in this order: one that can be asked,
 * of the provider that comes first, without a date in its id, with the highest version.
 * PI_NOT_FOUND; PI_INVALID: no such provider, or no such level.
 */
enum pi_status models_match(struct model_match *out, const struct models *t,
                            const char *provider, const char *pattern,
                            const struct model_judge *judge,
                            struct pi_error *err) NODISCARD;

/** The provider that is named in either of them; NULL when there is none. */
const struct model_provider *
models_named_provider(const struct models *t, const char *provider, const char *pattern);

/** The model to use when nobody chose one; NULL when none can be asked. */
const struct model *models_default(const struct models *t,
                                   const struct model_judge *judge);

/** Whether each word of query is part of "provider/id name"; NULL and "" fit all. */
bool models_fits(const struct model *m, const char *query);
