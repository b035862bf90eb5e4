#include "agent/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_line.h"
#include "base/json_relaxed.h"
#include "pi.h"
#include "sys/env.h"
#include "sys/file.h"
#include "sys/path.h"

enum { SETTINGS_MAX_BYTES = 1024 * 1024, RETRIES_MAX = 100 };

// The settings that this program reads; all others may stand in the file, too.
struct known {
    const char *key;
    const char *expected; // for people
    bool (*accepts)(const struct json *value);
};

static bool is_string(const struct json *value)
{
    return json_type(value) == JSON_STRING;
}

static bool is_bool(const struct json *value)
{
    return json_type(value) == JSON_BOOL;
}

static bool is_object(const struct json *value)
{
    return json_type(value) == JSON_OBJECT;
}

static bool is_count(const struct json *value)
{
    double n = json_num(value, -1);
    return n >= 0 && n <= 1e12;
}

static bool is_queue_mode(const struct json *value)
{
    const char *mode = json_str(value);
    return mode && (strcmp(mode, "all") == 0 || strcmp(mode, "one-at-a-time") == 0);
}

static bool is_level(const struct json *value)
{
    enum thinking_level level;
    return json_str(value) && thinking_level_parse(&level, json_str(value));
}

static bool is_budgets(const struct json *value)
{
    for (const struct json *v = json_first(value); v; v = json_next(v)) {
        enum thinking_level level;
        if (!thinking_level_parse(&level, json_key(v)) || !is_count(v)) {
            return false;
        }
    }
    return is_object(value);
}

#define QUEUE_MODES "\"one-at-a-time\" or \"all\""
#define LEVELS "\"off\", \"minimal\", \"low\", \"medium\", \"high\" or \"xhigh\""
#define COUNT "a number, 0 or more"

// A dot leads into an object. An object stands before its members.
static const struct known table[] = {
    {"defaultProvider", "a string", is_string},
    {"defaultModel", "a string", is_string},
    {"defaultThinkingLevel", LEVELS, is_level},
    {"thinkingBudgets", "an object of levels with numbers of tokens", is_budgets},
    {"compaction", "an object", is_object},
    {"compaction.enabled", "true or false", is_bool},
    {"compaction.reserveTokens", COUNT, is_count},
    {"compaction.keepRecentTokens", COUNT, is_count},
    {"retry", "an object", is_object},
    {"retry.enabled", "true or false", is_bool},
    {"retry.maxRetries", COUNT, is_count},
    {"retry.baseDelayMs", COUNT, is_count},
    {"retry.provider", "an object", is_object},
    {"retry.provider.timeoutMs", COUNT, is_count},
    {"retry.provider.maxRetries", COUNT, is_count},
    {"retry.provider.maxRetryDelayMs", COUNT, is_count},
    {"steeringMode", QUEUE_MODES, is_queue_mode},
    {"followUpMode", QUEUE_MODES, is_queue_mode},
    {"images", "an object", is_object},
    {"images.autoResize", "true or false", is_bool},
    {"images.blockImages", "true or false", is_bool},
    {"shellPath", "a string", is_string},
    {"shellCommandPrefix", "a string", is_string},
    {"sessionDir", "a string", is_string},
};

enum { TABLE_LEN = sizeof table / sizeof *table, KEY_MAX = 40 };

// The object that holds the last name of a dotted key; *name is that name.
static const struct json *holder(const struct json *root, const char *key,
                                 const char **name)
{
    const struct json *at = root;
    const char *dot;
    *name = key;
    while ((dot = strchr(*name, '.'))) {
        char part[KEY_MAX];
        size_t n = (size_t)(dot - *name);
        memcpy(part, *name, n);
        part[n] = '\0';
        at = json_get(at, part);
        *name = dot + 1;
    }
    return is_object(at) ? at : NULL;
}

static const struct json *look_up(const struct json *root, const char *key)
{
    const char *name;
    const struct json *object = holder(root, key, &name);
    return object ? json_get(object, name) : NULL;
}

static bool is_wrong(const struct json *value, const struct known *known)
{
    return value && json_type(value) != JSON_NULL && !known->accepts(value);
}

// Takes a member out of the tree.
static void drop(struct json *root, const char *key)
{
    struct json *at = root;
    const char *dot;
    while ((dot = strchr(key, '.'))) {
        char part[KEY_MAX];
        size_t n = (size_t)(dot - key);
        memcpy(part, key, n);
        part[n] = '\0';
        at = json_get(at, part);
        key = dot + 1;
    }
    json_destroy(json_remove(at, key));
}

// What is wrong is taken out, so that the other file's or the default value holds.
static void drop_mistakes(struct json *root, const char *path, struct sv text,
                          struct buf *problems)
{
    for (size_t i = 0; i < TABLE_LEN; i++) {
        const struct json *value = look_up(root, table[i].key);
        if (is_wrong(value, &table[i])) {
            buf_addf(problems, "%s: line %zu: %s must be %s; it is ignored\n", path,
                     json_line(text, root, value), table[i].key, table[i].expected);
        }
    }
    for (size_t i = 0; i < TABLE_LEN; i++) {
        const struct json *value = look_up(root, table[i].key);
        if (value && (json_type(value) == JSON_NULL || is_wrong(value, &table[i]))) {
            drop(root, table[i].key);
        }
    }
}

// *out stays NULL when there is no such file or it cannot be used.
static enum pi_status load_file(struct json **out, const char *dir, const char *name,
                                struct buf *problems, struct pi_error *err)
{
    struct pi_error why = {0};
    struct buf text = {0};
    char *path = path_join(dir, name);
    if (!path) {
        return error_nomem(err);
    }
    enum pi_status st = file_load(&text, path, SETTINGS_MAX_BYTES, &why);
    if (st != PI_OK && st != PI_NOT_FOUND) {
        buf_addf(problems, "%s\n", why.message);
    }
    if (st == PI_OK && text.len > 0) {
        st = json_parse_relaxed(out, buf_sv(&text), NULL, &why);
        if (st != PI_OK) {
            buf_addf(problems, "%s: %s; the file is ignored\n", path, why.message);
        } else if (json_type(*out) != JSON_OBJECT) {
            buf_addf(problems, "%s: must be an object {...}; the file is ignored\n",
                     path);
            json_destroy(*out);
            *out = NULL;
        } else {
            drop_mistakes(*out, path, buf_sv(&text), problems);
        }
    }
    buf_finish(&text);
    free(path);
    return st == PI_NOMEM ? error_nomem(err) : PI_OK;
}

static bool set_copy(struct json *object, const struct json *member)
{
    return json_set(object, json_key(member), json_copy(member));
}

// Lays over onto base: an object's members one by one, everything else as a whole.
static bool merge(struct json *base, const struct json *over)
{
    for (const struct json *m = json_first(over); m; m = json_next(m)) {
        struct json *old = json_get(base, json_key(m));
        bool both = json_type(old) == JSON_OBJECT && json_type(m) == JSON_OBJECT;
        const struct json *inner = both ? json_first(m) : NULL;
        for (; inner; inner = json_next(inner)) {
            if (!set_copy(old, inner)) {
                return false;
            }
        }
        if (!both && !set_copy(base, m)) {
            return false;
        }
    }
    return true;
}

static bool copy_member(char **out, const struct json *object, const char *key)
{
    const char *value = json_get_str(object, key);
    *out = value && *value ? strdup(value) : NULL;
    return *out || !value || !*value;
}

static bool is_all(const struct json *object, const char *key)
{
    const char *mode = json_get_str(object, key);
    return mode && strcmp(mode, "all") == 0;
}

static int64_t count(const struct json *root, const char *key, int64_t fallback)
{
    return (int64_t)json_num(look_up(root, key), (double)fallback);
}

static bool flag(const struct json *root, const char *key, bool fallback)
{
    const char *name;
    const struct json *object = holder(root, key, &name);
    return object ? json_get_bool(object, name, fallback) : fallback;
}

static void fill_retry(struct retry_policy *out, const struct json *values)
{
    *out = RETRY_POLICY_DEFAULT;
    out->enabled = flag(values, "retry.enabled", out->enabled);
    int64_t retries = count(values, "retry.maxRetries", out->max_retries);
    out->max_retries = retries > RETRIES_MAX ? RETRIES_MAX : (unsigned)retries;
    out->base_delay_ms = count(values, "retry.baseDelayMs", out->base_delay_ms);
    out->max_delay_ms =
        count(values, "retry.provider.maxRetryDelayMs", out->max_delay_ms);
}

static void fill_thinking(struct settings *out, const struct json *values)
{
    const char *level = json_get_str(values, "defaultThinkingLevel");
    out->thinking = THINKING_MEDIUM;
    if (level) {
        thinking_level_parse(&out->thinking, level);
    }
    const struct json *budgets = json_get(values, "thinkingBudgets");
    for (const struct json *b = json_first(budgets); b; b = json_next(b)) {
        enum thinking_level of;
        if (thinking_level_parse(&of, json_key(b))) {
            out->thinking_budgets[of] = (int64_t)json_num(b, 0);
        }
    }
}

static bool fill(struct settings *out, const struct json *values)
{
    out->steering_all = is_all(values, "steeringMode");
    out->follow_up_all = is_all(values, "followUpMode");
    fill_retry(&out->retry, values);
    fill_thinking(out, values);
    out->idle_timeout_ms = count(values, "retry.provider.timeoutMs", 0);
    out->compaction.enabled = flag(values, "compaction.enabled", true);
    out->compaction.reserve_tokens = count(values, "compaction.reserveTokens", 16384);
    out->compaction.keep_recent_tokens =
        count(values, "compaction.keepRecentTokens", 20000);
    out->block_images = flag(values, "images.blockImages", false);
    out->resize_images = flag(values, "images.autoResize", true);
    return copy_member(&out->shell_path, values, "shellPath") &&
           copy_member(&out->shell_command_prefix, values, "shellCommandPrefix") &&
           copy_member(&out->default_provider, values, "defaultProvider") &&
           copy_member(&out->default_model, values, "defaultModel");
}

// A leading "~" and a relative path are understood, since the variable is set by hand.
static char *expand(const char *path, const char *cwd, const char *home)
{
    bool tilde = path[0] == '~' && (path[1] == '\0' || path[1] == '/');
    if (tilde && home) {
        const char *rest = path + 1 + strspn(path + 1, "/");
        return path_join(home, rest);
    }
    return path_join(cwd, path);
}

// The environment goes before the setting.
static enum pi_status find_session_dir(char **out, const struct json *values,
                                       const char *cwd, const char *home,
                                       struct pi_error *err)
{
    struct env env = {0};
    enum pi_status st = env_copy(&env, NULL, err);
    if (st != PI_OK) {
        return st;
    }
    const char *dir = env_get(&env, "PI_CODING_AGENT_SESSION_DIR");
    if (!dir || !*dir) {
        dir = json_get_str(values, "sessionDir");
    }
    bool given = dir && *dir;
    *out = given ? expand(dir, cwd, home) : NULL;
    env_finish(&env);
    return *out || !given ? PI_OK : error_nomem(err);
}

static enum pi_status find_agent_dir(char **out, const char *given, const char *cwd,
                                     const char *home, struct pi_error *err)
{
    struct env env = {0};
    const char *dir = given;
    if (!dir) {
        enum pi_status st = env_copy(&env, NULL, err);
        if (st != PI_OK) {
            return st;
        }
        dir = env_get(&env, "PI_CODING_AGENT_DIR");
    }
    if (dir && *dir) {
        *out = expand(dir, cwd, home);
    } else {
        *out = path_join(home ? home : "/", ".pi/agent");
    }
    env_finish(&env);
    return *out ? PI_OK : error_nomem(err);
}

enum pi_status settings_load(struct settings *out, const char *agent_dir, const char *cwd,
                             const char *home, struct pi_error *err)
{
    *out = (struct settings){0};
    struct json *global = NULL, *project = NULL;
    enum pi_status st = find_agent_dir(&out->agent_dir, agent_dir, cwd, home, err);
    if (st == PI_OK) {
        st = load_file(&global, out->agent_dir, "settings.json", &out->problems, err);
    }
    if (st == PI_OK) {
        st = load_file(&project, cwd, ".pi/settings.json", &out->problems, err);
    }
    if (st == PI_OK && global && project && !merge(global, project)) {
        st = error_nomem(err);
    }
    if (st == PI_OK &&
        (!fill(out, global ? global : project) || !buf_ok(&out->problems))) {
        st = error_nomem(err);
    }
    if (st == PI_OK) {
        st = find_session_dir(&out->session_dir, global ? global : project, cwd, home,
                              err);
    }
    json_destroy(project);
    json_destroy(global);
    if (st != PI_OK) {
        settings_finish(out);
    }
    return st;
}

bool pi_images_resize(const struct pi_agent_options *options)
{
    struct env env = {0};
    struct settings settings = {0};
    bool resize = true;
    if (env_copy(&env, options->environment, NULL) == PI_OK &&
        settings_load(&settings, options->agent_dir, options->cwd, env_get(&env, "HOME"),
                      NULL) == PI_OK) {
        resize = settings.resize_images;
    }
    settings_finish(&settings);
    env_finish(&env);
    return resize;
}

void settings_finish(struct settings *s)
{
    if (!s) {
        return;
    }
    free(s->agent_dir);
    free(s->shell_path);
    free(s->shell_command_prefix);
    free(s->default_provider);
    free(s->default_model);
    free(s->session_dir);
    buf_finish(&s->problems);
    *s = (struct settings){0};
}
