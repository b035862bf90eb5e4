#include "agent/model_find.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "llm/local.h"
#include "sys/path.h"

bool model_can_ask(const void *agent, const struct model *m)
{
    const struct pi_agent *a = agent;
    return provider_find(m->api) && auth_can_ask(a->choice.auth, m);
}

/* -- the table -- */

// Mistakes in the files are told each time they are read: one of them may be the reason
// why a model is not found.
static enum pi_status load(struct pi_agent *a, struct models **out, struct pi_error *err)
{
    struct buf problems = {0};
    char *path = path_join(a->settings.agent_dir, "models.json");
    enum pi_status status =
        path ? models_load(out, path, &problems, err) : error_nomem(err);
    if (!status) {
        status = auth_refresh(a->choice.auth, &problems, err);
        if (status) {
            models_destroy(*out);
        }
    }
    agent_notice_lines(a, &problems);
    buf_finish(&problems);
    free(path);
    return status;
}

static bool is_offline(const struct pi_agent *a)
{
    const char *offline = env_get(&a->environment, "PI_OFFLINE");
    return offline && *offline && strcmp(offline, "0") != 0;
}

static enum pi_status discover(struct pi_agent *a, struct models *t,
                               struct local_options *options, struct pi_error *err)
{
    if (is_offline(a)) {
        return PI_OK;
    }
    enum pi_status status = ask_connect(a, err);
    options->http = a->http;
    return status ? status : local_discover(t, options, err);
}

enum pi_status model_table(struct pi_agent *a, struct models **out, struct buf *answered,
                           struct cancel *cancel, struct pi_error *err)
{
    struct models *t = NULL;
    struct local_options options = {.cancel = cancel, .answered = answered};
    enum pi_status status = load(a, &t, err);
    if (!status) {
        status = discover(a, t, &options, err);
        if (status) {
            models_destroy(t);
        }
    }
    *out = status ? NULL : t;
    return status;
}

/* -- finding -- */

struct hunt {
    struct pi_agent *agent;
    const struct model_wish *wish;
    struct cancel *cancel;
    struct models *table;
    struct buf answered; // servers that are there
    bool asked;          // they were all asked
    struct model_judge judge;
};

static enum pi_status ask_servers(struct hunt *h, const struct model_provider *only,
                                  struct pi_error *err)
{
    struct local_options options = {
        .cancel = h->cancel, .only = only, .answered = &h->answered};
    h->asked = true;
    return discover(h->agent, h->table, &options, err);
}

// A server on this machine was named, but it has no such model.
static enum pi_status not_served(struct hunt *h, const struct model_match *match,
                                 struct pi_error *err)
{
    const struct model_provider *p = match->provider;
    struct buf ids = {0};
    for (size_t i = 0; i < models_len(h->table) && ids.len < 200; i++) {
        const struct model *m = models_at(h->table, i);
        if (strcmp(m->provider, p->name) == 0) {
            buf_addf(&ids, "%s%s", ids.len ? ", " : "", m->id);
        }
    }
    enum pi_status status;
    if (h->answered.len == 0) {
        status = error_set(err, PI_NOT_FOUND,
                           "%s does not answer at %.150s; start it, or give its address "
                           "as baseUrl of \"%s\" in models.json",
                           p->label, p->base_url, p->name);
    } else {
        status = error_set(err, PI_NOT_FOUND, "%s has no model \"%.*s\"; it has %s",
                           p->label, match->id.n < 80 ? (int)match->id.n : 80,
                           match->id.p, ids.len ? buf_cstr(&ids) : "none");
    }
    buf_finish(&ids);
    return status;
}

// An id that the table does not have, of a provider that it has.
static enum pi_status take_unknown(struct hunt *h, struct model_match *match,
                                   struct pi_error *err)
{
    if (match->provider->discovered) {
        return not_served(h, match, err);
    }
    match->model = models_add_unknown(h->table, match->provider, match->id);
    if (!match->model) {
        return error_nomem(err);
    }
    struct buf text = {0};
    buf_addf(&text,
             "pi does not know the model %s of %s: its window, prices and abilities are "
             "guessed; models.json can say them",
             match->model->id, match->provider->label);
    agent_notice(h->agent, "warning", buf_cstr(&text));
    buf_finish(&text);
    return PI_OK;
}

static enum pi_status find_pattern(struct hunt *h, struct model_match *match,
                                   struct pi_error *err)
{
    const struct model_wish *w = h->wish;
    const struct model_provider *named =
        models_named_provider(h->table, w->provider, w->pattern);
    enum pi_status status = PI_OK;
    if (named && named->discovered) {
        status = ask_servers(h, named, err);
    }
    if (!status) {
        status = models_match(match, h->table, w->provider, w->pattern, &h->judge, err);
    }
    if (status == PI_NOT_FOUND && !h->asked && !w->provider) {
        status = ask_servers(h, NULL, err);
        if (!status) {
            status = models_match(match, h->table, NULL, w->pattern, &h->judge, err);
        }
    }
    return !status && !match->model ? take_unknown(h, match, err) : status;
}

static const struct model *first_of(const struct models *t,
                                    const struct model_provider *p)
{
    for (size_t i = 0; i < models_len(t); i++) {
        if (strcmp(models_at(t, i)->provider, p->name) == 0) {
            return models_at(t, i);
        }
    }
    return NULL;
}

static enum pi_status find_of_provider(struct hunt *h, struct model_match *match,
                                       struct pi_error *err)
{
    const char *name = h->wish->provider;
    const struct model_provider *p = models_find_provider(h->table, sv_of(name));
    if (!p) { // for its message
        return models_match(match, h->table, name, "", &h->judge, err);
    }
    enum pi_status status = p->discovered ? ask_servers(h, p, err) : PI_OK;
    if (status) {
        return status;
    }
    match->model = first_of(h->table, p);
    match->provider = p;
    if (match->model) {
        return PI_OK;
    }
    return p->discovered
               ? not_served(h, match, err)
               : error_set(err, PI_NOT_FOUND,
                           "pi knows no model of %s; name one with --model", p->label);
}

static enum pi_status find_any(struct hunt *h, struct model_match *match,
                               struct pi_error *err)
{
    match->model = models_default(h->table, &h->judge);
    if (!match->model && !h->asked) {
        enum pi_status status = ask_servers(h, NULL, err);
        if (status) {
            return status;
        }
        match->model = models_default(h->table, &h->judge);
    }
    if (match->model) {
        return PI_OK;
    }
    return error_set(
        err, PI_NOT_FOUND,
        "no model can be asked: there is no key, and no server on this machine answers. "
        "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or the variable of another provider (pi "
        "--list-models names them), put a key into %.150s/auth.json, start Ollama, "
        "llama.cpp, LM Studio or vLLM, or use --model replay:FILE",
        h->agent->settings.agent_dir);
}

static enum pi_status find_wish(struct hunt *h, struct model_match *match,
                                struct pi_error *err)
{
    if (h->wish->pattern) {
        return find_pattern(h, match, err);
    }
    return h->wish->provider ? find_of_provider(h, match, err) : find_any(h, match, err);
}

// What a file asks for gives way to what can be asked.
static enum pi_status find_instead(struct hunt *h, struct model_match *match,
                                   struct pi_error *err)
{
    struct pi_error first = *err;
    struct buf text = {0};
    enum pi_status status = find_any(h, match, err);
    if (status == PI_NOT_FOUND) {
        *err = first; // says more
    }
    if (!status) {
        buf_addf(&text, "The model of %s cannot be used: %s. %s/%s is used instead.",
                 h->wish->origin == CHOICE_SESSION ? "this session" : "settings.json",
                 first.message, match->model->provider, match->model->id);
        agent_notice(h->agent, "warning", buf_cstr(&text));
    }
    buf_finish(&text);
    return status;
}

static enum pi_status hunt(struct hunt *h, struct model_match *match,
                           struct pi_error *err)
{
    enum pi_status status = find_wish(h, match, err);
    enum choice_origin origin = h->wish->origin;
    if (origin == CHOICE_USER || origin == CHOICE_NOBODY) {
        return status;
    }
    if (!status && !model_can_ask(h->agent, match->model)) {
        status = error_set(err, PI_NOT_FOUND, "there is no key for %s/%s",
                           match->model->provider, match->model->id);
    }
    if (status == PI_NOT_FOUND || status == PI_INVALID) {
        *match = (struct model_match){0};
        status = find_instead(h, match, err);
    }
    return status;
}

enum pi_status model_find(struct pi_agent *a, struct model_found *out,
                          const struct model_wish *wish, struct cancel *cancel,
                          struct pi_error *err)
{
    struct pi_error why = {0};
    struct hunt h = {.agent = a,
                     .wish = wish,
                     .cancel = cancel,
                     .judge = {.can_ask = model_can_ask, .data = a}};
    struct model_match match = {0};
    enum pi_status status = load(a, &h.table, &why);
    if (!status) {
        status = hunt(&h, &match, &why);
        if (!status) {
            status = model_copy_init(&out->copy, match.model, &why);
            out->level_given = match.level_given;
            out->level = match.level;
        }
        models_destroy(h.table);
    }
    buf_finish(&h.answered);
    if (status && err) {
        *err = why;
    }
    return status;
}
