#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "llm/model.h"

/**
 * The table of models: the built-in ones, over them the user's models.json, and what
 * servers on this machine said of theirs. Loaded when a model is chosen or listed and
 * given back afterwards. Not thread-safe.
 */
struct models;

/** Where models are reached. Borrowed from the table. */
struct model_provider {
    const char *name;       // "anthropic"
    const char *label;      // for people
    const char *base_url;   // NULL = each model says its own
    const char *api;        // of models that do not say their own
    const char *key_source; // apiKey of models.json
    const struct json *headers, *compat, *overrides;
    bool builtin;
    bool auth_header;
    bool keyless;    // the server wants no key
    bool discovered; // the server is to be asked which models it has
};

/**
 * Loads the table. path: the user's models.json; it need not exist. What is wrong in it
 * is one line each in problems, and the rest counts. Only PI_NOMEM is an error.
 */
enum pi_status models_load(struct models **out, const char *path, struct buf *problems,
                           struct pi_error *err) NODISCARD;

void models_destroy(struct models *t); // accepts NULL

/** All models, those of a provider side by side; providers in the order of preference. */
size_t models_len(const struct models *t);
const struct model *models_at(const struct models *t, size_t i);

size_t models_providers_len(const struct models *t);
const struct model_provider *models_provider_at(const struct models *t, size_t i);

/** By name, small and capital letters being the same; NULL when there is none. */
const struct model_provider *models_find_provider(const struct models *t, struct sv name);

/**
 * Adds what a server says of a model: an object as in "models" of models.json, taken
 * over. What the user's file says wins. False without memory.
 */
bool models_add_found(struct models *t, const struct model_provider *provider,
                      struct json *spec) NODISCARD;

/** Adds a model of which nothing but its id is known. NULL without memory. */
const struct model *
models_add_unknown(struct models *t, const struct model_provider *provider, struct sv id);
