// The sessions on disk, as a face asks for them before it makes an agent.

#include "agent/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/list.h"
#include "sys/path.h"

enum pi_status sessions_dir(char **out, const struct settings *settings,
                            const struct pi_agent_options *o, struct pi_error *err)
{
    if (o->session_dir) {
        *out = path_join(o->cwd, o->session_dir);
    } else if (settings->session_dir) {
        *out = strdup(settings->session_dir);
    } else {
        *out = session_dir(settings->agent_dir, o->cwd);
    }
    return *out ? PI_OK : error_nomem(err);
}

// Where to look: the folder of cwd, and the one that holds those of all directories.
struct places {
    char *dir, *root;
};

static void places_finish(struct places *p)
{
    free(p->dir);
    free(p->root);
}

static enum pi_status find_places(struct places *out, const struct pi_agent_options *o,
                                  struct pi_error *err)
{
    struct env env = {0};
    struct settings settings = {0};
    if (!o->cwd || o->cwd[0] != '/') {
        return error_set(err, PI_INVALID,
                         "the working directory must be an absolute path");
    }
    enum pi_status status = env_copy(&env, o->environment, err);
    if (!status) {
        status =
            settings_load(&settings, o->agent_dir, o->cwd, env_get(&env, "HOME"), err);
    }
    if (!status) {
        status = sessions_dir(&out->dir, &settings, o, err);
    }
    if (!status) {
        out->root = path_join(settings.agent_dir, "sessions");
        status = out->root ? PI_OK : error_nomem(err);
    }
    settings_finish(&settings);
    env_finish(&env);
    return status;
}

static bool is_path(const char *wanted)
{
    return strchr(wanted, '/') || sv_ends(sv_of(wanted), sv_of(".jsonl"));
}

enum pi_status pi_session_find(char **path, const struct pi_agent_options *options,
                               const char *wanted, struct pi_error *err)
{
    struct places places = {0};
    enum pi_status status = find_places(&places, options, err);
    if (status) {
        places_finish(&places);
        return status;
    }
    if (!wanted) {
        status = session_newest(path, places.dir, options->cwd, err);
    } else if (is_path(wanted)) {
        *path = wanted[0] == '/' ? strdup(wanted) : path_join(options->cwd, wanted);
        status = *path ? PI_OK : error_nomem(err);
    } else if (!*wanted) {
        status = error_set(err, PI_INVALID, "the id of the session is empty");
    } else {
        status = session_find(path, wanted, places.dir, places.root, err);
    }
    places_finish(&places);
    return status;
}

static struct json *info_json(const struct session_info *info)
{
    struct json *o = json_new_object();
    if (o && json_set_str(o, "path", info->path) && json_set_str(o, "id", info->id) &&
        (!info->cwd || json_set_str(o, "cwd", info->cwd)) &&
        (!info->name || json_set_str(o, "name", info->name)) &&
        (!info->first_message || json_set_str(o, "firstMessage", info->first_message)) &&
        json_set_int(o, "messages", (int64_t)info->messages) &&
        json_set_int(o, "modified", info->modified_ms)) {
        return o;
    }
    json_destroy(o);
    return NULL;
}

enum pi_status pi_sessions_json(char **json, const struct pi_agent_options *options,
                                struct pi_error *err)
{
    struct places places = {0};
    struct session_list list = {0};
    struct buf text = {0};
    struct json *array = NULL;
    enum pi_status status = find_places(&places, options, err);
    if (!status) {
        status = session_list(&list, places.dir, options->cwd, err);
    }
    if (!status) {
        array = json_new_array();
        bool ok = array != NULL;
        for (size_t i = 0; ok && i < list.len; i++) {
            ok = json_push(array, info_json(&list.items[i]));
        }
        if (ok) {
            json_write(&text, array);
        }
        *json = ok ? buf_take(&text) : NULL;
        status = *json ? PI_OK : error_nomem(err);
    }
    json_destroy(array);
    buf_finish(&text);
    session_list_finish(&list);
    places_finish(&places);
    return status;
}
