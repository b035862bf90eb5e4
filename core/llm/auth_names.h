#pragma once

#include "base/sv.h"
#include "sys/env.h"

/**
 * Which environment variables hold keys of providers, so that they reach neither commands
 * nor logs.
 */

typedef void auth_see_fn(void *data, const char *name, const char *value);

/** The n-th variable that may hold the provider's key, NULL when there are no more. */
const char *auth_variable(const char *provider, size_t n);

/** Calls see for each variable of e that is set and holds a key. see may not change e. */
void auth_visit_keys(const struct env *e, auth_see_fn *see, void *data);

/**
 * The same for those that a file of configuration (auth.json, models.json) names as keys
 * or as values of headers. The text is only skimmed; it need not be right.
 */
void auth_visit_named(const struct env *e, struct sv text, auth_see_fn *see, void *data);
