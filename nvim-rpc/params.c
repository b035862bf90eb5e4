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

static enum pi_status keep(void **out, struct param_texts *texts, size_t bytes,
                           struct pi_error *err)
{
    if (texts->len == sizeof texts->items / sizeof *texts->items) {
        return error_set(err, PI_LIMIT, "too many texts");
    }
    void *memory = malloc(bytes);
    if (!memory) {
        return error_nomem(err);
    }
    texts->items[texts->len++] = memory;
    *out = memory;
    return PI_OK;
}

// Returns what stands behind the copy.
static char *copy_text(char *to, struct sv text)
{
    if (text.n > 0) {
        memcpy(to, text.p, text.n);
    }
    to[text.n] = '\0';
    return to + text.n + 1;
}

static enum pi_status read_text(const msgpack_object *value, const struct param *p,
                                char *into, struct param_texts *texts,
                                struct pi_error *err)
{
    struct sv text = text_of(value);
    void *memory = NULL;
    enum pi_status status = keep(&memory, texts, text.n + 1, err);
    if (status != PI_OK) {
        return status;
    }
    char *copy = memory;
    copy_text(copy, text);
    *(const char **)(void *)(into + p->offset) = copy;
    if (p->len_offset) {
        *(size_t *)(void *)(into + p->len_offset) = text.n;
    }
    return PI_OK;
}

// One piece of memory: the pointers, then the texts.
static enum pi_status read_list(const msgpack_object_array *list, const struct param *p,
                                char *into, struct param_texts *texts,
                                struct pi_error *err)
{
    size_t bytes = (list->size + 1) * sizeof(char *);
    for (uint32_t i = 0; i < list->size; i++) {
        if (list->ptr[i].type != MSGPACK_OBJECT_STR) {
            return error_set(err, PI_INVALID, "the parameter %s must be a list of texts",
                             p->name);
        }
        bytes += text_of(&list->ptr[i]).n + 1;
    }
    void *memory = NULL;
    enum pi_status status = keep(&memory, texts, bytes, err);
    if (status != PI_OK) {
        return status;
    }
    const char **copies = memory;
    char *at = (char *)(copies + list->size + 1);
    for (uint32_t i = 0; i < list->size; i++) {
        copies[i] = at;
        at = copy_text(at, text_of(&list->ptr[i]));
    }
    copies[list->size] = NULL;
    *(const char *const **)(void *)(into + p->offset) = copies;
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
    if (p->kind == PARAM_LIST && value->type == MSGPACK_OBJECT_ARRAY) {
        return read_list(&value->via.array, p, into, texts, err);
    }
    return error_set(err, PI_INVALID, "the parameter %s has the wrong type", p->name);
}

static bool is_envelope(struct sv name)
{
    return sv_eqs(name, "seq") || sv_eqs(name, "connection");
}

struct param_envelope params_envelope(const msgpack_object *params)
{
    struct param_envelope e = {0};
    if (params->type != MSGPACK_OBJECT_ARRAY || params->via.array.size == 0 ||
        params->via.array.ptr[0].type != MSGPACK_OBJECT_MAP) {
        return e;
    }
    const msgpack_object_map *map = &params->via.array.ptr[0].via.map;
    for (uint32_t i = 0; i < map->size; i++) {
        struct sv name = text_of(&map->ptr[i].key);
        const msgpack_object *value = &map->ptr[i].val;
        if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && is_envelope(name)) {
            *(sv_eqs(name, "seq") ? &e.seq : &e.connection) = value->via.u64;
        }
    }
    return e;
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
        if (!p && is_envelope(name)) {
            continue;
        }
        if (!p) {
            status = error_set(err, PI_INVALID, "there is no parameter \"%.*s\"",
                               (int)(name.n < 64 ? name.n : 64), name.p ? name.p : "");
        } else if (pair->val.type != MSGPACK_OBJECT_NIL) {
            status = read_param(&pair->val, p, into, texts, err);
        }
    }
    return status;
}
