// The models that a user can choose from, as an event.

#include "agent/agent.h"
#include "agent/model_find.h"
#include "llm/auth_names.h"

#include <string.h>

struct listing {
    const struct pi_agent *agent;
    const struct models *table;
    const struct buf *answered;
    const char *query;
};

static bool add_model(struct json *list, const struct listing *l, const struct model *m)
{
    struct json *o = model_json(m);
    if (!json_set_bool(o, "available", model_can_ask(l->agent, m))) {
        json_destroy(o);
        return false;
    }
    return json_push(list, o);
}

static struct json *models_json(const struct listing *l)
{
    struct json *list = json_new_array();
    for (size_t i = 0; list && i < models_len(l->table); i++) {
        const struct model *m = models_at(l->table, i);
        if (models_fits(m, l->query) && !add_model(list, l, m)) {
            json_destroy(list);
            list = NULL;
        }
    }
    return list;
}

static bool has_line(const struct buf *text, const char *word)
{
    struct sv line, rest = buf_sv(text);
    while (sv_next_line(&rest, &line)) {
        if (sv_eqs(line, word)) {
            return true;
        }
    }
    return false;
}

static bool add_provider(struct json *list, const struct listing *l,
                         const struct model_provider *p)
{
    const struct model any = {.provider = p->name,
                              .api = p->api,
                              .key_source = p->key_source,
                              .keyless = p->keyless};
    const char *variable = auth_variable(p->name, 0);
    bool answers = p->discovered && has_line(l->answered, p->name);
    struct json *o = json_new_object();
    bool ok =
        json_set_str(o, "name", p->name) && json_set_str(o, "label", p->label) &&
        json_set_bool(o, "available",
                      model_can_ask(l->agent, &any) && (!p->discovered || answers)) &&
        json_set_bool(o, "local", p->discovered) &&
        (!variable || json_set_str(o, "keyVariable", variable));
    if (!ok) {
        json_destroy(o);
        return false;
    }
    return json_push(list, o);
}

static struct json *providers_json(const struct listing *l)
{
    struct json *list = json_new_array();
    for (size_t i = 0; list && i < models_providers_len(l->table); i++) {
        if (!add_provider(list, l, models_provider_at(l->table, i))) {
            json_destroy(list);
            list = NULL;
        }
    }
    return list;
}

void choice_list(struct pi_agent *a, const char *query)
{
    struct pi_error err = {0};
    struct models *table = NULL;
    struct buf answered = {0};
    struct cancel *cancel = mailbox_calls_cancel(&a->mailbox);
    if (model_table(a, &table, &answered, cancel, &err)) {
        agent_notice(a, "error", err.message);
        agent_emit(a, event_model_list(json_new_array(), json_new_array()));
    } else {
        const struct listing l = {
            .agent = a, .table = table, .answered = &answered, .query = query};
        agent_emit(a, event_model_list(models_json(&l), providers_json(&l)));
    }
    models_destroy(table);
    buf_finish(&answered);
    cancel_unref(cancel);
}
