#include "methods.h"

#include <string.h>

#include "base/error.h"
#include "method.h"

static const struct method *find_in(const struct method *table, struct sv name)
{
    for (; table->name; table++) {
        if (sv_eqs(name, table->name)) {
            return table;
        }
    }
    return NULL;
}

static const struct method *find(const msgpack_object *name)
{
    if (name->type != MSGPACK_OBJECT_STR) {
        return NULL;
    }
    struct sv text = sv_make(name->via.str.ptr, name->via.str.size);
    const struct method *m = find_in(methods_of_run, text);
    return m ? m : find_in(methods_of_session, text);
}

enum pi_status methods_call(struct server *s, const msgpack_object *method,
                            const msgpack_object *params, struct pack *result,
                            struct pi_error *err)
{
    static const msgpack_object nothing = {.type = MSGPACK_OBJECT_MAP};
    static const struct param none[] = {{0}};
    const struct method *m = find(method);
    if (!m) {
        return error_set(err, PI_NOT_FOUND, "pi-nvim has no such method");
    }
    if (!s->agent && !m->before_hello) {
        return error_set(err, PI_INVALID, "%s comes after hello", m->name);
    }
    struct arguments a = {.options = PI_AGENT_OPTIONS_INIT, .call.abort_after_ms = -1};
    struct param_texts texts = {0};
    bool given = params->type == MSGPACK_OBJECT_ARRAY && params->via.array.size > 0;
    enum pi_status status = params_read(given ? params->via.array.ptr : &nothing,
                                        m->params ? m->params : none, &a, &texts, err);
    if (status == PI_OK) {
        status = m->run(s, &a, result, err);
    }
    param_texts_finish(&texts);
    return status;
}
