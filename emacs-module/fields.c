#include "fields.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value.h"

void field_texts_finish(struct field_texts *t)
{
    for (size_t i = 0; i < t->len; i++) {
        free(t->items[i]);
    }
    for (size_t i = 0; i < t->lists_len; i++) {
        free((void *)t->lists[i]);
    }
    free(t->items);
    free((void *)t->lists);
    *t = (struct field_texts){0};
}

static bool signal_nomem(emacs_env *env)
{
    struct pi_error err;
    (void)error_nomem(&err);
    value_signal(env, &err);
    return false;
}

// Reads a string that texts owns from then on.
static const char *read_text(emacs_env *env, emacs_value value, size_t *len,
                             struct field_texts *texts)
{
    struct buf b = {0};
    if (!value_add_bytes(env, value, &b)) {
        buf_finish(&b);
        return NULL;
    }
    *len = b.len;
    char **grown = realloc(texts->items, (texts->len + 1) * sizeof *grown);
    char *text = grown ? buf_take(&b) : NULL;
    if (grown) {
        texts->items = grown;
    }
    if (!text) {
        buf_finish(&b);
        signal_nomem(env);
        return NULL;
    }
    texts->items[texts->len++] = text;
    return text;
}

static const char *const *read_texts(emacs_env *env, emacs_value value,
                                     struct field_texts *texts)
{
    ptrdiff_t n = env->vec_size(env, value);
    if (!value_ok(env)) {
        return NULL;
    }
    const char ***lists =
        realloc((void *)texts->lists, (texts->lists_len + 1) * sizeof *lists);
    const char **list = calloc((size_t)n + 1, sizeof *list);
    if (lists) {
        texts->lists = lists;
    }
    if (!lists || !list) {
        free((void *)list);
        signal_nomem(env);
        return NULL;
    }
    texts->lists[texts->lists_len++] = list;
    for (ptrdiff_t i = 0; i < n; i++) {
        size_t len;
        list[i] = read_text(env, env->vec_get(env, value, i), &len, texts);
        if (!list[i]) {
            return NULL;
        }
    }
    return list;
}

static bool read_field(emacs_env *env, emacs_value value, const struct field *f,
                       char *into, struct field_texts *texts)
{
    size_t len = 0;
    char *at = into + f->offset;
    switch (f->kind) {
    case FIELD_TEXT:
        *(const char **)(void *)at = read_text(env, value, &len, texts);
        if (f->len_offset) {
            *(size_t *)(void *)(into + f->len_offset) = len;
        }
        break;
    case FIELD_TEXTS:
        *(const char *const **)(void *)at = read_texts(env, value, texts);
        break;
    case FIELD_FLAG:
        *(bool *)(void *)at = true;
        break;
    case FIELD_NUMBER:
        *(uint64_t *)(void *)at = (uint64_t)env->extract_integer(env, value);
        break;
    }
    return value_ok(env);
}

static const struct field *find(emacs_env *env, emacs_value name,
                                const struct field *table)
{
    for (; table->name; table++) {
        if (value_is(env, name, table->name)) {
            return table;
        }
    }
    return NULL;
}

bool fields_read(emacs_env *env, emacs_value vector, const struct field *table,
                 void *into, struct field_texts *texts)
{
    ptrdiff_t n = env->vec_size(env, vector);
    for (ptrdiff_t i = 0; value_ok(env) && i + 1 < n; i += 2) {
        emacs_value name = env->vec_get(env, vector, i);
        emacs_value value = env->vec_get(env, vector, i + 1);
        const struct field *f = find(env, name, table);
        if (value_ok(env) && !f) {
            emacs_value data = value_list(env, &name, 1);
            env->non_local_exit_signal(env, value_symbol(env, "wrong-type-argument"),
                                       data);
        }
        if (value_ok(env) && env->is_not_nil(env, value)) {
            read_field(env, value, f, into, texts);
        }
    }
    return value_ok(env);
}
