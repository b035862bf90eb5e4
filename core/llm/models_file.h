#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"
#include "llm/model.h"

/**
 * What may stand in models.json (doc/providers.md). Readers take what is right and leave
 * out what is wrong; the check tells the user about the latter.
 */

/** What a provider's object says. Borrowed from the tree. */
struct provider_spec {
    const char *label; // "name"
    const char *base_url;
    const char *api;
    const char *key_source; // "apiKey"
    const struct json *headers;
    const struct json *compat;
    const struct json *models;    // an array, or NULL
    const struct json *overrides; // "modelOverrides": an object, or NULL
    int auth_header;              // -1 = not said
    bool local;
};

void provider_spec_read(struct provider_spec *out, const struct json *object);

/** The id of an entry of "models"; NULL = it cannot be used. */
const char *model_spec_id(const struct json *object);

/** Lays what a model's object says over *m; headers and compat replace what was there.
 * Borrows from the tree. */
void model_spec_read(struct model *m, const struct json *object);

/** A file as it was read. */
struct models_text {
    const char *path;
    struct sv text;
};

/**
 * Appends one line for each mistake in the tree, with file, line and what was expected;
 * when there are many, the number of the rest. builtin: the providers that are known
 * anyway, an object.
 */
void models_file_check(struct buf *problems, const struct models_text *file,
                       const struct json *root, const struct json *builtin);

/** Whether an API name is one that models.json may use; this build need not speak it. */
bool models_file_knows_api(const char *api);

/** The built-in table (models.json of this folder), made by the build. */
extern const unsigned char models_builtin[];
extern const size_t models_builtin_len;
