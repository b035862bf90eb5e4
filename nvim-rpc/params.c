#include "params.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sv.h"

void param_texts_finish(struct param_texts *t)
{
    for (size_t i = 0; i < t->len; i++) {
        free(t->items[i]);
    }
    t->len = 0;
}

static struct sv text_of(const msgpack_object *o)
{
    return o->type == MSGPACK_OBJECT_STR ? sv_make(o->via.str.ptr, o->via.str.size)
                                         : sv_of(NULL);
}

static const struct param *find(const struct param *table, struct sv name)
{
    for (; table->name; table++) {
        if (sv_eqs(name, table->name)) {
            return table;
        }
    }
    return NULL;
}

static enum pi_status read_text(const msgpack_object *value, const struct param *p,
                                char *into, struct param_texts *texts,
                                struct pi_error *err)
{
    struct sv text = text_of(value);
    if (texts->len == sizeof texts->items / sizeof *texts->items) {
        return error_set(err, PI_LIMIT, "too many texts");
    }
    char *copy = malloc(text.n + 1);
    if (!copy) {
        return error_nomem(err);
    }
    if (text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    copy[text.n] = '\0';
    texts->items[texts->len++] = copy;
    *(const char **)(void *)(into + p->offset) = copy;
    if (p->len_offset) {
        *(size_t *)(void *)(into + p->len_offset) = text.n;
    }
    return PI_OK;
}

static enum pi_status read_param(const msgpack_object *value, const struct param *p,
                                 char *into, struct param_texts *texts,
                                 struct pi_error *err)
{
    if (p->kind == PARAM_TEXT && value->type == MSGPACK_OBJECT_STR) {
        return read_text(value, p, into, texts, err);
    }
    if (p->kind == PARAM_FLAG && value->type == MSGPACK_OBJECT_BOOLEAN) {
        *(bool *)(void *)(into + p->offset) = value->via.boolean;
        return PI_OK;
    }
    if (p->kind == PARAM_NUMBER && value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        *(uint64_t *)(void *)(into + p->offset) = value->via.u64;
        return PI_OK;
    }
    return error_set(err, PI_INVALID, "the parameter %s has the wrong type", p->name);
}

enum pi_status params_read(const msgpack_object *map, const struct param *table,
                           void *into, struct param_texts *texts, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (map->type != MSGPACK_OBJECT_MAP) {
        return error_set(err, PI_INVALID, "the parameters must be one map");
    }
    for (uint32_t i = 0; i < map->via.map.size && status == PI_OK; i++) {
        const msgpack_object_kv *pair = &map->via.map.ptr[i];
        struct sv name = text_of(&pair->key);
        const struct param *p = find(table, name);
        if (!p) {
            status = error_set(err, PI_INVALID, "there is no parameter \"%.*s\"",
                               (int)(name.n < 64 ? name.n : 64), name.p ? name.p : "");
        } else if (pair->val.type != MSGPACK_OBJECT_NIL) {
            status = read_param(&pair->val, p, into, texts, err);
        }
    }
    return status;
}
