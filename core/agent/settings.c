#include "agent/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_relaxed.h"
#include "sys/env.h"
#include "sys/file.h"
#include "sys/path.h"

enum { SETTINGS_MAX_BYTES = 1024 * 1024 };

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

static bool is_queue_mode(const struct json *value)
{
    const char *mode = json_str(value);
    return mode && (strcmp(mode, "all") == 0 || strcmp(mode, "one-at-a-time") == 0);
}

static const struct known table[] = {
    {"sessionDir", "a string", is_string},
    {"shellPath", "a string", is_string},
    {"shellCommandPrefix", "a string", is_string},
    {"steeringMode", "\"one-at-a-time\" or \"all\"", is_queue_mode},
    {"followUpMode", "\"one-at-a-time\" or \"all\"", is_queue_mode},
};

// The line where the last member of this name begins, which is the one that counts; 1
// when its name is written with escapes.
static size_t line_of(struct sv text, const char *key)
{
    size_t line = 1, found = 1, n = strlen(key);
    for (size_t i = 0; i + n + 1 < text.n; i++) {
        line += text.p[i] == '\n';
        if (text.p[i] == '"' && memcmp(text.p + i + 1, key, n) == 0 &&
            text.p[i + 1 + n] == '"') {
            found = line;
        }
    }
    return found;
}

// What is wrong is taken out, so that the other file's or the default value holds.
static void drop_mistakes(struct json *object, const char *path, struct sv text,
                          struct buf *problems)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct json *value = json_get(object, table[i].key);
        bool absent = !value || json_type(value) == JSON_NULL;
        if (!absent && !table[i].accepts(value)) {
            buf_addf(problems, "%s: line %zu: %s must be %s; it is ignored\n", path,
                     line_of(text, table[i].key), table[i].key, table[i].expected);
        }
        if (value && (absent || !table[i].accepts(value))) {
            json_destroy(json_remove(object, table[i].key));
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

static bool fill(struct settings *out, const struct json *values)
{
    out->steering_all = is_all(values, "steeringMode");
    out->follow_up_all = is_all(values, "followUpMode");
    return copy_member(&out->shell_path, values, "shellPath") &&
           copy_member(&out->shell_command_prefix, values, "shellCommandPrefix");
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

void settings_finish(struct settings *s)
{
    if (!s) {
        return;
    }
    free(s->agent_dir);
    free(s->session_dir);
    free(s->shell_path);
    free(s->shell_command_prefix);
    buf_finish(&s->problems);
    *s = (struct settings){0};
}
