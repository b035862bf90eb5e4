#include "options.h"

#include <stddef.h>
#include <stdlib.h>

#include "pi_tools.h"
#include "value.h"

#define OPTION(name, kind, member)                                                       \
    {                                                                                    \
        name, kind, offsetof(struct options, member), 0                                  \
    }

static const struct field option_fields[] = {
    OPTION(":cwd", FIELD_TEXT, pi.cwd),
    OPTION(":agent-dir", FIELD_TEXT, pi.agent_dir),
    OPTION(":environment", FIELD_TEXTS, pi.environment),
    OPTION(":model", FIELD_TEXT, pi.model),
    OPTION(":provider", FIELD_TEXT, pi.provider),
    OPTION(":api-key", FIELD_TEXT, pi.api_key),
    OPTION(":keys", FIELD_TEXTS, key_texts),
    OPTION(":thinking", FIELD_TEXT, pi.thinking),
    OPTION(":tools", FIELD_TEXT, pi.tools),
    OPTION(":system-prompt", FIELD_TEXT, pi.system_prompt),
    OPTION(":append-system-prompt", FIELD_TEXTS, pi.append_system_prompt),
    OPTION(":no-context-files", FIELD_FLAG, pi.no_context_files),
    OPTION(":yolo", FIELD_FLAG, yolo),
    OPTION(":restrict", FIELD_TEXT, pi.restrict_dir),
    OPTION(":session", FIELD_TEXT, pi.session),
    OPTION(":session-dir", FIELD_TEXT, pi.session_dir),
    OPTION(":no-session", FIELD_FLAG, pi.no_session),
    OPTION(":guard", FIELD_TEXT, pi.guard_path),
    OPTION(":log", FIELD_TEXT, pi.log_path),
    {0},
};

static bool pair_keys(emacs_env *env, struct options *o)
{
    size_t n = 0;
    while (o->key_texts && o->key_texts[n]) {
        n++;
    }
    if (n == 0) {
        return true;
    }
    o->keys = calloc(n, sizeof *o->keys);
    if (!o->keys || n % 2) {
        value_signal_status(env, o->keys ? PI_INVALID : PI_NOMEM,
                            "keys are pairs of a provider and its key");
        return false;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const char *const *pair = o->key_texts + 2 * i;
        o->keys[i] = (struct pi_key){.provider = pair[0], .key = pair[1]};
    }
    o->pi.keys = o->keys;
    o->pi.keys_len = n / 2;
    return true;
}

bool options_read(emacs_env *env, emacs_value vector, struct options *o)
{
    *o = (struct options){.pi = PI_AGENT_OPTIONS_INIT};
    if (!fields_read(env, vector, option_fields, o, &o->texts) || !pair_keys(env, o)) {
        return false;
    }
    o->pi.permissions = o->yolo ? PI_PERMISSIONS_YOLO : PI_PERMISSIONS_ASK;
    o->pi.definitions = pi_tools_builtin(&o->pi.definitions_len);
    return true;
}

void options_finish(struct options *o)
{
    field_texts_finish(&o->texts);
    free(o->keys);
    o->keys = NULL;
}
