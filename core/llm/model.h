#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/**
 * A model that can be asked: from the built-in table, models.json, a local server, or
 * made up for an id that nobody knows. Made by models.c, constant afterwards.
 */

enum thinking_level {
    THINKING_OFF,
    THINKING_MINIMAL,
    THINKING_LOW,
    THINKING_MEDIUM,
    THINKING_HIGH,
    THINKING_XHIGH,
};
enum { THINKING_LEVELS = 6 };

const char *thinking_level_name(enum thinking_level level);
bool thinking_level_parse(enum thinking_level *out, const char *name);

/** US dollars per million tokens. */
struct model_cost {
    double input, output, cache_read, cache_write;
};

struct model {
    const char *id;       // as the server knows it
    const char *name;     // for people
    const char *api;      // "anthropic-messages", "openai-completions", "replay"
    const char *provider; // "anthropic", "openai", "ollama", ...
    const char *base_url; // without the path of the API
    const char *source;   // replay: path of the file of turns
    bool reasoning;
    bool input_image;
    struct model_cost cost;
    int64_t context_window; // tokens; 0 = unknown
    int64_t max_tokens;     // of one answer

    /** thinkingLevelMap: the value to send; NULL = the level's own name. */
    const char *thinking_values[THINKING_LEVELS];
    bool thinking_unsupported[THINKING_LEVELS];

    const char *key_source; // of models.json, unresolved: literal, name of a variable or
                            // "!command"; NULL = none
    bool auth_header;       // the key also goes into "Authorization: Bearer KEY"
    bool keyless;           // the server wants no key

    const struct json
        *headers;              // object of strings as configured, unresolved; may be NULL
    const struct json *compat; // object as configured; may be NULL
};

/** The nearest supported level: upward first, then downward; off for a model without
 * reasoning. */
enum thinking_level model_clamp_thinking(const struct model *m,
                                         enum thinking_level wanted);
