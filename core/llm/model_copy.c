#include "llm/model_copy.h"

#include "llm/models_file.h"
#include "net/url.h"

static bool set_text(struct json *o, const char *key, const char *text)
{
    return !text || json_set_str(o, key, text);
}

static bool set_tree(struct json *o, const char *key, const struct json *tree)
{
    return !tree || json_set(o, key, json_copy(tree));
}

static struct json *levels_json(const struct model *m)
{
    struct json *map = json_new_object();
    bool ok = map != NULL;
    for (int i = 0; i < THINKING_LEVELS && ok; i++) {
        const char *level = thinking_level_name((enum thinking_level)i);
        if (m->thinking_unsupported[i]) {
            ok = json_set(map, level, json_new_null());
        } else {
            ok = set_text(map, level, m->thinking_values[i]);
        }
    }
    if (!ok) {
        json_destroy(map);
        return NULL;
    }
    return map;
}

static struct json *input_json(const struct model *m)
{
    struct json *list = json_new_array();
    bool ok = list && json_push(list, json_new_string(sv_of("text"))) &&
              (!m->input_image || json_push(list, json_new_string(sv_of("image"))));
    if (!ok) {
        json_destroy(list);
        return NULL;
    }
    return list;
}

static struct json *cost_json(const struct model *m)
{
    struct json *cost = json_new_object();
    bool ok = cost && json_set(cost, "input", json_new_num(m->cost.input)) &&
              json_set(cost, "output", json_new_num(m->cost.output)) &&
              json_set(cost, "cacheRead", json_new_num(m->cost.cache_read)) &&
              json_set(cost, "cacheWrite", json_new_num(m->cost.cache_write));
    if (!ok) {
        json_destroy(cost);
        return NULL;
    }
    return cost;
}

// The address may hold a password.
static bool set_address(struct json *o, const char *url)
{
    struct buf shown = {0};
    if (!url) {
        return true;
    }
    url_show(&shown, sv_of(url));
    bool ok = buf_ok(&shown) && json_set_str(o, "baseUrl", buf_cstr(&shown));
    buf_finish(&shown);
    return ok;
}

struct json *model_json(const struct model *m)
{
    struct json *o = json_new_object();
    bool ok =
        o && set_text(o, "id", m->id) && set_text(o, "name", m->name) &&
        set_text(o, "api", m->api) && set_text(o, "provider", m->provider) &&
        set_address(o, m->base_url) && json_set_bool(o, "reasoning", m->reasoning) &&
        json_set(o, "thinkingLevelMap", levels_json(m)) &&
        json_set(o, "input", input_json(m)) && json_set(o, "cost", cost_json(m)) &&
        json_set_int(o, "contextWindow", m->context_window) &&
        json_set_int(o, "maxTokens", m->max_tokens) && set_tree(o, "compat", m->compat);
    if (!ok) {
        json_destroy(o);
        return NULL;
    }
    return o;
}

enum pi_status model_copy_init(struct model_copy *out, const struct model *m,
                               struct pi_error *err)
{
    struct json *o = model_json(m);
    bool ok = o && set_text(o, "address", m->base_url) &&
              set_tree(o, "headers", m->headers) &&
              set_text(o, "keySource", m->key_source) && set_text(o, "source", m->source);
    if (!ok) {
        json_destroy(o);
        return error_nomem(err);
    }
    struct model copy = {.auth_header = m->auth_header, .keyless = m->keyless};
    model_spec_read(&copy, o);
    // Not read above, or only when it is as a file may have it.
    copy.id = json_get_str(o, "id");
    copy.name = json_get_str(o, "name");
    copy.api = json_get_str(o, "api");
    copy.provider = json_get_str(o, "provider");
    copy.base_url = json_get_str(o, "address");
    copy.key_source = json_get_str(o, "keySource");
    copy.source = json_get_str(o, "source");
    *out = (struct model_copy){.model = copy, .tree = o};
    return PI_OK;
}

void model_copy_finish(struct model_copy *c)
{
    if (c) {
        json_destroy(c->tree);
        *c = (struct model_copy){0};
    }
}
