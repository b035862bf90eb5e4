#include "tool/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static size_t position(const struct registry *r, struct sv name)
{
    size_t i = 0;
    while (i < r->len && !sv_eqs(name, r->tools[i].name)) {
        i++;
    }
    return i;
}

static enum pi_status add_tool(struct registry *r, const struct pi_tool_definition *def,
                               struct pi_error *err)
{
    struct json *parameters = NULL;
    struct pi_error why;
    enum pi_status status = json_parse(&parameters, sv_of(def->parameters), NULL, &why);
    if (status == PI_NOMEM) {
        return error_nomem(err);
    }
    if (status || json_type(parameters) != JSON_OBJECT) {
        json_destroy(parameters);
        return error_set(err, PI_INVALID,
                         "The parameters of tool \"%s\" are no JSON "
                         "schema: %s",
                         def->name, status ? why.message : "an object is needed");
    }
    size_t at = position(r, sv_of(def->name));
    if (at == r->len) {
        struct tool *grown = vec_grow(r->tools, &r->cap, r->len + 1, sizeof(*grown));
        if (!grown) {
            json_destroy(parameters);
            return error_nomem(err);
        }
        r->tools = grown;
        r->len++;
    } else {
        json_destroy(r->tools[at].parameters);
    }
    r->tools[at] = (struct tool){
        .name = def->name,
        .description = def->description,
        .parameters = parameters,
        .mode = def->mode,
        .prepare = def->prepare,
        .plan = def->plan,
        .execute = def->execute,
        .definition = def,
    };
    return PI_OK;
}

enum pi_status registry_init(struct registry *r,
                             const struct pi_tool_definition *const *defs, size_t len,
                             struct pi_error *err)
{
    *r = (struct registry){0};
    for (size_t i = 0; i < len; i++) {
        enum pi_status status = add_tool(r, defs[i], err);
        if (status) {
            registry_finish(r);
            return status;
        }
    }
    return PI_OK;
}

void registry_finish(struct registry *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->len; i++) {
        json_destroy(r->tools[i].parameters);
    }
    free(r->tools);
    free(r->active);
    *r = (struct registry){0};
}

static void activate(struct registry *r, size_t at)
{
    for (size_t i = 0; i < r->active_len; i++) {
        if (r->active[i] == at) {
            return;
        }
    }
    r->active[r->active_len++] = at;
}

static const char *preset_names(const char *tools)
{
    static const struct {
        const char *preset, *names;
    } presets[] = {
        {"coding", "read,bash,edit,write"},
        {"read-only", "read,grep,find,ls"},
        {"all", "read,bash,edit,write,grep,find,ls"},
    };
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
        if (strcmp(tools, presets[i].preset) == 0) {
            return presets[i].names;
        }
    }
    return NULL;
}

static struct sv next_name(struct sv *rest)
{
    const char *comma = rest->n ? memchr(rest->p, ',', rest->n) : NULL;
    struct sv name = sv_make(rest->p, comma ? (size_t)(comma - rest->p) : rest->n);
    *rest = sv_from(*rest, name.n + 1);
    while (name.n > 0 && (*name.p == ' ' || *name.p == '\t')) {
        name = sv_from(name, 1);
    }
    while (name.n > 0 && (name.p[name.n - 1] == ' ' || name.p[name.n - 1] == '\t')) {
        name.n--;
    }
    return name;
}

static void add_names(const struct registry *r, struct buf *out, bool active_only)
{
    size_t len = active_only ? r->active_len : r->len;
    for (size_t i = 0; i < len; i++) {
        buf_adds(out, i > 0 ? ", " : "");
        buf_adds(out, r->tools[active_only ? r->active[i] : i].name);
    }
}

static enum pi_status unknown_name(const struct registry *r, struct sv name,
                                   struct pi_error *err)
{
    struct buf all = {0};
    add_names(r, &all, false);
    error_set(err, PI_INVALID, "There is no tool \"%.*s\". The tools are: %s.",
              (int)(name.n < 80 ? name.n : 80), name.p, buf_cstr(&all));
    buf_finish(&all);
    return PI_INVALID;
}

// What was added to the built-in tools was added to be used; only "read-only" has to
// stay what its name says.
static void activate_added(struct registry *r)
{
    for (size_t i = 0; i < r->len; i++) {
        if (r->tools[i].definition->source != TOOL_BUILTIN) {
            activate(r, i);
        }
    }
}

enum pi_status registry_set_active(struct registry *r, const char *tools,
                                   struct pi_error *err)
{
    const char *preset = preset_names(tools);
    struct registry next = *r;
    next.active_len = 0;
    next.active = calloc(r->len + 1, sizeof(*next.active));
    if (!next.active) {
        return error_nomem(err);
    }
    struct sv rest = sv_of(preset ? preset : tools);
    while (rest.n > 0) {
        struct sv name = next_name(&rest);
        size_t at = position(r, name);
        if (at < r->len) {
            activate(&next, at);
        } else if (!preset && name.n > 0) {
            free(next.active);
            return unknown_name(r, name, err);
        }
    }
    if (preset && strcmp(tools, "read-only") != 0) {
        activate_added(&next);
    }
    free(r->active);
    *r = next;
    return PI_OK;
}

enum pi_status registry_add(struct registry *r, const struct pi_tool_definition *def,
                            struct pi_error *err)
{
    size_t *active = realloc(r->active, (r->len + 2) * sizeof(*active));
    if (!active) {
        return error_nomem(err);
    }
    r->active = active;
    enum pi_status status = add_tool(r, def, err);
    if (!status) {
        activate(r, position(r, sv_of(def->name)));
    }
    return status;
}

bool registry_remove(struct registry *r, const char *name)
{
    size_t at = position(r, sv_of(name));
    if (at == r->len) {
        return false;
    }
    json_destroy(r->tools[at].parameters);
    r->len--;
    memmove(r->tools + at, r->tools + at + 1, (r->len - at) * sizeof(*r->tools));
    size_t kept = 0;
    for (size_t i = 0; i < r->active_len; i++) {
        if (r->active[i] != at) {
            r->active[kept++] = r->active[i] - (r->active[i] > at);
        }
    }
    r->active_len = kept;
    return true;
}

const struct tool *registry_find(const struct registry *r, const char *name)
{
    for (size_t i = 0; i < r->active_len; i++) {
        if (strcmp(r->tools[r->active[i]].name, name) == 0) {
            return &r->tools[r->active[i]];
        }
    }
    return NULL;
}

const struct tool *registry_find_any(const struct registry *r, const char *name)
{
    size_t at = position(r, sv_of(name));
    return at < r->len ? &r->tools[at] : NULL;
}

void registry_names(const struct registry *r, struct buf *out)
{
    add_names(r, out, true);
}
