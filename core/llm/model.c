#include "llm/model.h"

#include <string.h>

static const char *const names[THINKING_LEVELS] = {
    "off", "minimal", "low", "medium", "high", "xhigh",
};

const char *thinking_level_name(enum thinking_level level)
{
    return names[level];
}

bool thinking_level_parse(enum thinking_level *out, const char *name)
{
    for (int i = 0; i < THINKING_LEVELS; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum thinking_level)i;
            return true;
        }
    }
    return false;
}

// xhigh exists only where the model's map names it.
static bool supported(const struct model *m, int level)
{
    if (m->thinking_unsupported[level]) {
        return false;
    }
    return level != THINKING_XHIGH || m->thinking_values[level];
}

enum thinking_level model_clamp_thinking(const struct model *m,
                                         enum thinking_level wanted)
{
    if (!m->reasoning) {
        return THINKING_OFF;
    }
    for (int i = (int)wanted; i < THINKING_LEVELS; i++) {
        if (supported(m, i)) {
            return (enum thinking_level)i;
        }
    }
    for (int i = (int)wanted - 1; i >= 0; i--) {
        if (supported(m, i)) {
            return (enum thinking_level)i;
        }
    }
    return THINKING_OFF;
}
