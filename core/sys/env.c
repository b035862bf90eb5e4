#include "sys/env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sv.h"
#include "base/vec.h"

static size_t name_length(const char *var)
{
    return strcspn(var, "=");
}

static bool has_name(const char *var, struct sv name)
{
    return strncmp(var, name.p, name.n) == 0 && (var[name.n] == '=' || !var[name.n]);
}

static size_t find(const struct env *e, struct sv name)
{
    size_t i = 0;
    while (i < e->len && !has_name(e->vars[i], name)) {
        i++;
    }
    return i;
}

static bool append(struct env *e, char *var)
{
    char **grown = vec_grow(e->vars, &e->cap, e->len + 2, sizeof *grown);
    if (!grown) {
        return false;
    }
    e->vars = grown;
    e->vars[e->len++] = var;
    e->vars[e->len] = NULL;
    return true;
}

static void remove_at(struct env *e, size_t i)
{
    free(e->vars[i]);
    memmove(&e->vars[i], &e->vars[i + 1], (e->len - i) * sizeof e->vars[0]);
    e->len--;
}

static bool seen_before(const char *const *list, size_t i)
{
    struct sv name = sv_make(list[i], name_length(list[i]));
    for (size_t k = 0; k < i; k++) {
        if (has_name(list[k], name)) {
            return true;
        }
    }
    return false;
}

enum pi_status env_copy(struct env *out, const char *const *list, struct pi_error *err)
{
    *out = (struct env){0};
    if (!list) {
        list = (const char *const *)environ;
    }
    for (size_t i = 0; list && list[i]; i++) {
        size_t name = name_length(list[i]);
        if (name == 0 || list[i][name] != '=' || seen_before(list, i)) {
            continue;
        }
        char *var = strdup(list[i]);
        if (!var || !append(out, var)) {
            free(var);
            env_finish(out);
            return error_nomem(err);
        }
    }
    return PI_OK;
}

void env_finish(struct env *e)
{
    if (!e) {
        return;
    }
    for (size_t i = 0; i < e->len; i++) {
        free(e->vars[i]);
    }
    free(e->vars);
    *e = (struct env){0};
}

const char *env_get(const struct env *e, const char *name)
{
    size_t i = find(e, sv_of(name));
    return i < e->len ? e->vars[i] + strlen(name) + 1 : NULL;
}

bool env_set(struct env *e, const char *name, const char *value)
{
    size_t name_len = strlen(name);
    size_t value_len = strlen(value);
    char *var = malloc(name_len + value_len + 2);
    if (!var) {
        return false;
    }
    memcpy(var, name, name_len);
    var[name_len] = '=';
    memcpy(var + name_len + 1, value, value_len + 1);
    size_t i = find(e, sv_make(name, name_len));
    if (i < e->len) {
        free(e->vars[i]);
        e->vars[i] = var;
        return true;
    }
    if (!append(e, var)) {
        free(var);
        return false;
    }
    return true;
}

void env_unset(struct env *e, const char *name)
{
    size_t i = find(e, sv_of(name));
    if (i < e->len) {
        remove_at(e, i);
    }
}

void env_unset_prefix(struct env *e, const char *prefix)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < e->len;) {
        if (strncmp(e->vars[i], prefix, n) == 0 && name_length(e->vars[i]) >= n) {
            remove_at(e, i);
        } else {
            i++;
        }
    }
}
