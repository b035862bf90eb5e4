#include "llm/local_read.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_MAX = 1000 };

// Marks of ours in the objects; model_spec_read() passes over them.
static const char loaded_mark[] = "(loaded)";
static const char unfit_mark[] = "(unfit)";

// False without memory; *out stays NULL when the body is no JSON.
static bool parse(struct json **out, struct sv body)
{
    *out = NULL;
    return body.n == 0 || json_parse(out, body, NULL, NULL) != PI_NOMEM;
}

static bool set_window(struct json *model, double tokens)
{
    if (!(tokens >= 1 && tokens <= 1e12)) {
        return true;
    }
    return json_set_int(model, "contextWindow", (int64_t)tokens);
}

static bool set_vision(struct json *model)
{
    struct json *list = json_new_array();
    if (!json_push(list, json_new_string(sv_of("text"))) ||
        !json_push(list, json_new_string(sv_of("image")))) {
        json_destroy(list);
        return false;
    }
    return json_set(model, "input", list);
}

static struct json *find(const struct json *list, const char *id)
{
    struct json *m = id ? json_first(list) : NULL;
    while (m && strcmp(json_get_str(m, "id"), id) != 0) {
        m = json_next(m);
    }
    return m;
}

static bool add_model(struct json *list, const struct json *entry)
{
    const char *id = json_get_str(entry, "id");
    if (!id || !*id) {
        return true;
    }
    struct json *model = json_new_object();
    bool ok = json_set_str(model, "id", id) &&
              set_window(model, json_get_num(entry, "max_model_len", 0));
    if (!ok) {
        json_destroy(model);
        return false;
    }
    return json_push(list, model);
}

bool local_read_models(struct json *list, struct sv body)
{
    struct json *root;
    bool ok = parse(&root, body);
    const struct json *entry = json_first(json_get(root, "data"));
    for (size_t n = 0; ok && entry && n < MODELS_MAX; n++, entry = json_next(entry)) {
        ok = add_model(list, entry);
    }
    json_destroy(root);
    return ok;
}

bool local_read_props(struct json *list, struct sv body)
{
    struct json *root;
    bool ok = parse(&root, body);
    double window =
        json_get_num(json_get(root, "default_generation_settings"), "n_ctx", 0);
    bool vision = json_get_bool(json_get(root, "modalities"), "vision", false);
    for (struct json *m = json_first(list); ok && m; m = json_next(m)) {
        ok = set_window(m, window) && (!vision || set_vision(m));
    }
    json_destroy(root);
    return ok;
}

bool local_read_ps(struct json *list, struct sv body, bool *ollama)
{
    struct json *root;
    bool ok = parse(&root, body);
    const struct json *models = json_get(root, "models");
    *ollama = json_type(models) == JSON_ARRAY;
    for (const struct json *e = json_first(models); ok && e; e = json_next(e)) {
        struct json *m = find(list, json_get_str(e, "name"));
        m = m ? m : find(list, json_get_str(e, "model"));
        if (m) {
            ok = set_window(m, json_get_num(e, "context_length", 0)) &&
                 json_set_bool(m, loaded_mark, true);
        }
    }
    json_destroy(root);
    return ok;
}

/* -- LM Studio -- */

static bool read_studio_type(struct json *model, const char *type)
{
    if (!type) {
        return true;
    }
    if (strncmp(type, "embedding", 9) == 0) {
        return json_set_bool(model, unfit_mark, true);
    }
    return strcmp(type, "vlm") != 0 || set_vision(model);
}

static bool read_studio_model(struct json *list, const struct json *e)
{
    const char *id = json_get_str(e, "key");
    struct json *model = find(list, id ? id : json_get_str(e, "id"));
    if (!model) {
        return true;
    }
    double window = json_get_num(e, "max_context_length", 0);
    const struct json *instance = json_first(json_get(e, "loaded_instances"));
    double served = json_get_num(e, "loaded_context_length", 0);
    served = json_get_num(json_get(instance, "config"), "context_length", served);
    const char *state = json_get_str(e, "state");
    bool loaded = instance || (state && strcmp(state, "loaded") == 0);
    bool vision = json_get_bool(json_get(e, "capabilities"), "vision", false);
    return set_window(model, served > 0 ? served : window) &&
           read_studio_type(model, json_get_str(e, "type")) &&
           (!vision || set_vision(model)) &&
           (!loaded || json_set_bool(model, loaded_mark, true));
}

bool local_read_studio(struct json *list, struct sv body)
{
    struct json *root;
    bool ok = parse(&root, body);
    const struct json *models = json_get(root, "models");
    const struct json *e = json_first(models ? models : json_get(root, "data"));
    for (; ok && e; e = json_next(e)) {
        ok = read_studio_model(list, e);
    }
    json_destroy(root);
    return ok;
}

/* -- Ollama -- */

static bool has_suffix(const char *text, const char *end)
{
    return sv_ends(sv_of(text), sv_of(end));
}

// What the model was made for, unless its own parameters say what it is served with. The
// window of a model that is loaded is known better already.
static double shown_window(const struct json *root)
{
    const char *parameters = json_get_str(root, "parameters");
    struct sv line, rest = sv_of(parameters);
    while (sv_next_line(&rest, &line)) {
        if (sv_starts(line, sv_of("num_ctx "))) {
            return strtod(line.p + strlen("num_ctx "), NULL);
        }
    }
    const struct json *info = json_first(json_get(root, "model_info"));
    while (info && !has_suffix(json_key(info), ".context_length")) {
        info = json_next(info);
    }
    return json_num(info, 0);
}

bool local_read_show(struct json *model, struct sv body)
{
    struct json *root;
    bool ok = parse(&root, body);
    bool chats = false, told = false;
    if (ok && !json_get(model, "contextWindow")) {
        ok = set_window(model, shown_window(root));
    }
    const struct json *can = json_first(json_get(root, "capabilities"));
    for (; ok && can; can = json_next(can)) {
        const char *word = json_str(can) ? json_str(can) : "";
        told = true;
        chats = chats || strcmp(word, "completion") == 0;
        if (strcmp(word, "vision") == 0) {
            ok = set_vision(model);
        } else if (strcmp(word, "thinking") == 0) {
            ok = json_set_bool(model, "reasoning", true);
        }
    }
    if (ok && told && !chats) {
        ok = json_set_bool(model, unfit_mark, true);
    }
    json_destroy(root);
    return ok;
}

/* -- the end -- */

static bool copy_marked(struct json *to, const struct json *from, bool loaded)
{
    for (const struct json *m = json_first(from); m; m = json_next(m)) {
        if (json_get(m, unfit_mark) || (json_get(m, loaded_mark) != NULL) != loaded) {
            continue;
        }
        if (!json_push(to, json_copy(m))) {
            return false;
        }
    }
    return true;
}

bool local_finish(struct json **list)
{
    struct json *sorted = json_new_array();
    if (!copy_marked(sorted, *list, true) || !copy_marked(sorted, *list, false)) {
        json_destroy(sorted);
        return false;
    }
    json_destroy(*list);
    *list = sorted;
    return true;
}
