#include "llm/models.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_relaxed.h"
#include "base/map.h"
#include "base/vec.h"
#include "llm/models_file.h"
#include "sys/file.h"

enum {
    FILE_MAX_BYTES = 32 * 1024 * 1024,
    DEFAULT_WINDOW = 128000, // of a model in the user's file that does not say
    DEFAULT_MAX_TOKENS = 16384,
};

// A model and what was said of it; the later in this list wins.
struct entry {
    struct model model; // made of all of it
    const struct model_provider *provider;
    const struct json *found; // by its server
    const struct json *spec;  // by a file
    struct entry *next;       // of the same provider
};

struct provider {
    struct model_provider info; // first
    struct entry *models, **models_end;
};

struct models {
    struct provider **providers;
    size_t providers_len, providers_cap;
    const struct model **all; // in order
    size_t len, cap;
    struct json **trees; // what everything points into
    size_t trees_len, trees_cap;
    struct map index; // "provider\nid" -> struct entry
};

// Takes a tree over; NULL (and freed) without memory.
static struct json *keep(struct models *t, struct json *tree)
{
    struct json **grown =
        tree ? vec_grow(t->trees, &t->trees_cap, t->trees_len + 1, sizeof *grown) : NULL;
    if (!grown) {
        json_destroy(tree);
        return NULL;
    }
    t->trees = grown;
    return t->trees[t->trees_len++] = tree;
}

static struct provider *provider_of(struct models *t, const char *name)
{
    for (size_t i = 0; i < t->providers_len; i++) {
        if (strcmp(t->providers[i]->info.name, name) == 0) {
            return t->providers[i];
        }
    }
    return NULL;
}

static struct provider *add_provider(struct models *t, const char *name)
{
    struct provider **grown =
        vec_grow(t->providers, &t->providers_cap, t->providers_len + 1, sizeof *grown);
    if (!grown) {
        return NULL;
    }
    t->providers = grown;
    struct provider *p = calloc(1, sizeof *p);
    if (p) {
        p->info.name = p->info.label = name;
        p->models_end = &p->models;
        t->providers[t->providers_len++] = p;
    }
    return p;
}

/* -- entries -- */

static bool entry_key(struct buf *key, const struct model_provider *p, struct sv id)
{
    buf_addf(key, "%s\n", p->name);
    buf_addsv(key, id);
    return buf_ok(key);
}

// The entry of this id, made when there is none; NULL without memory.
static struct entry *entry_of(struct models *t, const struct model_provider *info,
                              struct sv id)
{
    struct provider *p = provider_of(t, info->name);
    struct buf key = {0};
    bool ok = entry_key(&key, info, id);
    struct entry *e = ok ? map_get(&t->index, buf_sv(&key)) : NULL;
    if (!e && ok && p) {
        e = calloc(1, sizeof *e);
        if (e && !map_set(&t->index, buf_sv(&key), e)) {
            free(e);
            e = NULL;
        }
        if (e) {
            e->provider = info;
            *p->models_end = e;
            p->models_end = &e->next;
            t->len++;
        }
    }
    buf_finish(&key);
    return e;
}

// The members of over laid over those of base. Without memory NULL and *ok = false.
static const struct json *lay(struct models *t, const struct json *base,
                              const struct json *over, bool *ok)
{
    if (!base || !over || base == over) {
        return over ? over : base;
    }
    struct json *sum = json_copy(base);
    for (const struct json *m = json_first(over); m && sum; m = json_next(m)) {
        if (!json_set(sum, json_key(m), json_copy(m))) {
            json_destroy(sum);
            sum = NULL;
        }
    }
    sum = keep(t, sum);
    *ok = *ok && sum;
    return sum;
}

// Lays one more layer over a model.
static bool add_layer(struct models *t, struct model *m, const struct json *layer)
{
    if (!layer) {
        return true;
    }
    bool ok = true;
    const struct json *headers = m->headers, *compat = m->compat;
    const char *id = m->id;
    model_spec_read(m, layer);
    m->id = id ? id : m->id;
    m->headers = lay(t, headers, m->headers, &ok);
    m->compat = lay(t, compat, m->compat, &ok);
    return ok;
}

// Answers of a small window must leave room for the question.
static int64_t found_max_tokens(int64_t window)
{
    int64_t quarter = window / 4;
    if (window <= 0) {
        return DEFAULT_MAX_TOKENS;
    }
    return quarter < 1024 ? 1024 : quarter < 32000 ? quarter : 32000;
}

static bool fill(struct models *t, struct entry *e)
{
    const struct model_provider *p = e->provider;
    struct model m = {
        .api = p->api,
        .provider = p->name,
        .base_url = p->base_url,
        .key_source = p->key_source,
        .auth_header = p->auth_header,
        .keyless = p->keyless,
        .headers = p->headers,
        .compat = p->compat,
    };
    bool ok = add_layer(t, &m, e->found) && add_layer(t, &m, e->spec);
    if (m.max_tokens == 0 && e->found) {
        m.max_tokens = found_max_tokens(m.context_window);
    }
    if (e->spec && !e->found) {
        m.context_window = m.context_window ? m.context_window : DEFAULT_WINDOW;
    }
    m.max_tokens = m.max_tokens ? m.max_tokens : DEFAULT_MAX_TOKENS;
    m.name = m.name ? m.name : m.id;
    ok = ok && add_layer(t, &m, m.id ? json_get(p->overrides, m.id) : NULL);
    e->model = m;
    return ok;
}

/* -- files -- */

static void set_text(const char **place, const char *text)
{
    if (text) {
        *place = text;
    }
}

static bool update_provider(struct models *t, struct model_provider *p,
                            const struct provider_spec *spec, bool builtin)
{
    bool ok = true;
    set_text(&p->label, spec->label);
    set_text(&p->base_url, spec->base_url);
    set_text(&p->api, spec->api);
    set_text(&p->key_source, spec->key_source);
    p->headers = lay(t, p->headers, spec->headers, &ok);
    p->compat = lay(t, p->compat, spec->compat, &ok);
    p->overrides = lay(t, p->overrides, spec->overrides, &ok);
    p->auth_header = spec->auth_header < 0 ? p->auth_header : spec->auth_header > 0;
    p->builtin = p->builtin || builtin;
    p->api = p->api ? p->api : "openai-completions";
    bool own = !p->builtin && !p->key_source;
    p->keyless = p->keyless || spec->local || own;
    p->discovered =
        p->discovered || spec->local || (own && p->base_url && !json_first(spec->models));
    return ok;
}

static bool add_models(struct models *t, const struct model_provider *p,
                       const struct json *list)
{
    for (const struct json *m = json_first(list); m; m = json_next(m)) {
        const char *id = model_spec_id(m);
        if (!id) {
            continue;
        }
        struct entry *e = entry_of(t, p, sv_of(id));
        if (!e) {
            return false;
        }
        e->spec = m;
    }
    return true;
}

static bool add_file(struct models *t, const struct json *root, bool builtin)
{
    const struct json *p = json_first(json_get(root, "providers"));
    for (; p; p = json_next(p)) {
        struct provider_spec spec;
        provider_spec_read(&spec, p);
        if (json_type(p) != JSON_OBJECT) {
            continue;
        }
        struct provider *provider = provider_of(t, json_key(p));
        if (!provider) {
            provider = add_provider(t, json_key(p));
        }
        if (!provider || !update_provider(t, &provider->info, &spec, builtin) ||
            !add_models(t, &provider->info, spec.models)) {
            return false;
        }
    }
    return true;
}

static enum pi_status load_builtin(struct models *t, struct json **root,
                                   struct pi_error *err)
{
    struct json *tree = NULL;
    enum pi_status status = json_parse_relaxed(
        &tree, sv_make((const char *)models_builtin, models_builtin_len), NULL, err);
    *root = status ? NULL : keep(t, tree);
    if (!status && (!*root || !add_file(t, *root, true))) {
        status = error_nomem(err);
    }
    return status;
}

static enum pi_status load_user(struct models *t, const char *path,
                                const struct json *builtin, struct buf *problems,
                                struct pi_error *err)
{
    struct buf text = {0};
    struct json *tree = NULL;
    struct pi_error why = {0};
    enum pi_status status = file_load(&text, path, FILE_MAX_BYTES, &why);
    if (status != PI_OK && status != PI_NOT_FOUND) {
        buf_addf(problems, "%s\n", why.message);
    }
    if (status == PI_OK && text.len > 0) {
        status = json_parse_relaxed(&tree, buf_sv(&text), NULL, &why);
        if (status != PI_OK) {
            buf_addf(problems, "%s: %s; the file is ignored\n", path, why.message);
        }
    }
    if (tree) {
        struct models_text file = {.path = path, .text = buf_sv(&text)};
        models_file_check(problems, &file, tree, json_get(builtin, "providers"));
        tree = keep(t, tree);
        status = tree && add_file(t, tree, false) ? PI_OK : PI_NOMEM;
    }
    buf_finish(&text);
    return status == PI_NOMEM ? error_nomem(err) : PI_OK;
}

// Makes every model of what is known of it, and the list of all.
static bool finish(struct models *t)
{
    const struct model **grown = vec_grow(t->all, &t->cap, t->len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    t->all = grown;
    size_t n = 0;
    for (size_t i = 0; i < t->providers_len; i++) {
        for (struct entry *e = t->providers[i]->models; e; e = e->next) {
            t->all[n++] = &e->model;
        }
    }
    return true;
}

// A model without an address or a server is of no use.
static void drop_unreachable(struct models *t)
{
    for (size_t i = 0; i < t->providers_len; i++) {
        struct provider *p = t->providers[i];
        struct entry **link = &p->models;
        while (*link) {
            struct entry *e = *link;
            if (e->model.base_url) {
                link = &e->next;
                continue;
            }
            struct buf key = {0};
            if (entry_key(&key, e->provider, sv_of(e->model.id))) {
                map_remove(&t->index, buf_sv(&key));
            }
            buf_finish(&key);
            *link = e->next;
            free(e);
            t->len--;
        }
        p->models_end = link;
    }
}

enum pi_status models_load(struct models **out, const char *path, struct buf *problems,
                           struct pi_error *err)
{
    struct models *t = calloc(1, sizeof *t);
    struct json *builtin = NULL;
    if (!t) {
        return error_nomem(err);
    }
    enum pi_status status = load_builtin(t, &builtin, err);
    if (!status && path) {
        status = load_user(t, path, builtin, problems, err);
    }
    bool ok = true;
    for (size_t i = 0; i < t->providers_len && !status; i++) {
        for (struct entry *e = t->providers[i]->models; e; e = e->next) {
            ok = ok && fill(t, e);
        }
    }
    if (!status && ok) {
        drop_unreachable(t);
    }
    if (!status && (!ok || !finish(t) || !buf_ok(problems))) {
        status = error_nomem(err);
    }
    if (status) {
        models_destroy(t);
        return status;
    }
    *out = t;
    return PI_OK;
}

void models_destroy(struct models *t)
{
    if (!t) {
        return;
    }
    for (size_t i = 0; i < t->providers_len; i++) {
        struct entry *e = t->providers[i]->models;
        while (e) {
            struct entry *next = e->next;
            free(e);
            e = next;
        }
        free(t->providers[i]);
    }
    for (size_t i = 0; i < t->trees_len; i++) {
        json_destroy(t->trees[i]);
    }
    free(t->providers);
    free(t->trees);
    free(t->all);
    map_finish(&t->index);
    free(t);
}

/* -- looking -- */

size_t models_len(const struct models *t)
{
    return t->len;
}

const struct model *models_at(const struct models *t, size_t i)
{
    return t->all[i];
}

size_t models_providers_len(const struct models *t)
{
    return t->providers_len;
}

const struct model_provider *models_provider_at(const struct models *t, size_t i)
{
    return &t->providers[i]->info;
}

const struct model_provider *models_find_provider(const struct models *t, struct sv name)
{
    for (size_t i = 0; i < t->providers_len; i++) {
        const struct model_provider *p = &t->providers[i]->info;
        if (strlen(p->name) == name.n && strncasecmp(p->name, name.p, name.n) == 0) {
            return p;
        }
    }
    return NULL;
}

/* -- what servers say -- */

bool models_add_found(struct models *t, const struct model_provider *provider,
                      struct json *spec)
{
    const char *id = model_spec_id(spec);
    if (spec && !id) {
        json_destroy(spec);
        return true;
    }
    spec = keep(t, spec);
    struct entry *e = spec ? entry_of(t, provider, sv_of(id)) : NULL;
    if (!e) {
        return false;
    }
    e->found = spec;
    return fill(t, e) && finish(t);
}

const struct model *
models_add_unknown(struct models *t, const struct model_provider *provider, struct sv id)
{
    struct json *spec = json_new_object();
    if (spec && !json_set(spec, "id", json_new_string(id))) {
        json_destroy(spec);
        spec = NULL;
    }
    const char *clean = json_get_str(spec, "id"); // stays valid: the table keeps spec
    if (!spec || !models_add_found(t, provider, spec)) {
        return NULL;
    }
    struct buf key = {0};
    struct entry *e =
        entry_key(&key, provider, sv_of(clean)) ? map_get(&t->index, buf_sv(&key)) : NULL;
    buf_finish(&key);
    return e ? &e->model : NULL;
}
