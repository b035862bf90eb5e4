#include "agent/model_choice.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/model_find.h"
#include "sys/path.h"

static bool is_replay(const char *pattern)
{
    return pattern && sv_starts(sv_of(pattern), sv_of("replay:"));
}

enum pi_status choice_parse_level(enum thinking_level *out, const char *name,
                                  struct pi_error *err)
{
    if (name && thinking_level_parse(out, name)) {
        return PI_OK;
    }
    return error_set(err, PI_INVALID,
                     "no thinking level \"%.40s\"; there are off, minimal, low, medium, "
                     "high and xhigh",
                     name ? name : "");
}

static char *path_from(const char *cwd, const char *path)
{
    return path[0] == '/' ? strdup(path) : path_join(cwd, path);
}

/* -- what is asked for -- */

static bool set_wish(struct choice *c, enum choice_origin origin, const char *provider,
                     const char *pattern)
{
    bool ok = true;
    char *copies[] = {agent_copy(provider, &ok), agent_copy(pattern, &ok)};
    if (!ok) {
        free(copies[0]);
        free(copies[1]);
        return false;
    }
    free(c->provider);
    free(c->pattern);
    c->provider = copies[0];
    c->pattern = copies[1];
    c->origin = origin;
    c->open = true;
    return true;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static enum pi_status open_auth(struct pi_agent *a, const struct pi_agent_options *o,
                                struct pi_error *err)
{
    char *file = path_join(a->settings.agent_dir, "auth.json");
    char *models = path_join(a->settings.agent_dir, "models.json");
    enum pi_status status = PI_NOMEM;
    if (file && models) {
        status = auth_create(&a->choice.auth,
                             &(struct auth_options){.file = file,
                                                    .models_file = models,
                                                    .environment = &a->environment,
                                                    .guard_path = a->guard_path,
                                                    .cwd = a->cwd,
                                                    .api_key = or_null(o->api_key),
                                                    .keys = o->keys,
                                                    .keys_len = o->keys_len,
                                                    .log = a->log},
                             err);
    } else {
        error_nomem(err);
    }
    if (!status) {
        auth_clean(a->choice.auth, &a->environment);
    }
    free(file);
    free(models);
    return status;
}

// Relative paths start where the user is, whatever the directory of the session.
static enum pi_status choose_replay(struct pi_agent *a, const char *cwd,
                                    struct pi_error *err)
{
    const char *file = a->choice.pattern + strlen("replay:");
    struct buf pattern = {0};
    char *path = *file ? path_from(cwd, file) : strdup("");
    buf_addf(&pattern, "replay:%s", path ? path : "");
    bool ok = path && buf_ok(&pattern) &&
              set_wish(&a->choice, CHOICE_USER, NULL, buf_cstr(&pattern));
    free(path);
    buf_finish(&pattern);
    return ok ? choice_make(a, NULL, err) : error_nomem(err);
}

// The model of a session that is taken up again, unless the user named one.
static enum pi_status restore(struct pi_agent *a, struct pi_error *err)
{
    struct choice *c = &a->choice;
    const char *provider = session_provider(a->session);
    const char *model = session_model(a->session);
    const char *level = session_thinking(a->session);
    if (level && !c->thinking_given) {
        thinking_level_parse(&c->wanted, level);
    }
    bool kept = provider && model && strcmp(provider, "replay") != 0;
    if (c->origin == CHOICE_USER || !kept) {
        return PI_OK;
    }
    return set_wish(c, CHOICE_SESSION, provider, model) ? PI_OK : error_nomem(err);
}

enum pi_status choice_init(struct pi_agent *a, const struct pi_agent_options *o,
                           struct pi_error *err)
{
    struct choice *c = &a->choice;
    const char *provider = or_null(o->provider), *model = or_null(o->model);
    c->wanted = a->settings.thinking;
    if (o->thinking) {
        enum pi_status status = choice_parse_level(&c->wanted, o->thinking, err);
        if (status) {
            return status;
        }
        c->thinking_given = true;
    }
    if (o->api_key && !provider && !model) {
        return error_set(err, PI_INVALID,
                         "a key was given without a provider or a model to use it for");
    }
    enum pi_status status = open_auth(a, o, err);
    if (status) {
        return status;
    }
    enum choice_origin origin = CHOICE_USER;
    if (!provider && !model) {
        provider = a->settings.default_provider;
        model = a->settings.default_model;
        origin = provider || model ? CHOICE_SETTINGS : CHOICE_NOBODY;
    }
    if (!set_wish(c, origin, provider, model)) {
        return error_nomem(err);
    }
    if (is_replay(model)) { // needs neither files nor servers
        return choose_replay(a, o->cwd, err);
    }
    return a->session ? restore(a, err) : PI_OK;
}

void choice_finish(struct choice *c)
{
    auth_destroy(c->auth);
    free(c->provider);
    free(c->pattern);
    model_copy_finish(&c->chosen);
    *c = (struct choice){0};
}

void choice_want(struct pi_agent *a, struct command *c)
{
    if (!set_wish(&a->choice, CHOICE_USER, c->id, c->name)) {
        agent_notice(a, "error", "out of memory: the model stays as it is");
    }
    a->choice.thinking_given = false;
    a->choice.by_command = true;
}

/* -- thinking -- */

static void fit_thinking(struct pi_agent *a, bool tell)
{
    struct choice *c = &a->choice;
    enum thinking_level before = c->thinking;
    c->thinking = a->model.id ? model_clamp_thinking(&a->model, c->wanted) : c->wanted;
    if (tell && c->thinking != before) {
        agent_emit(a, event_thinking_changed(c->thinking));
    }
}

void choice_set_thinking(struct pi_agent *a, enum thinking_level level)
{
    a->choice.wanted = level;
    a->choice.thinking_given = true;
    fit_thinking(a, true);
    if (a->model.id && a->choice.thinking != level) {
        struct buf text = {0};
        buf_addf(&text, "%s does not think at the level %s; it is set to %s", a->model.id,
                 thinking_level_name(level), thinking_level_name(a->choice.thinking));
        agent_notice(a, "warning", buf_cstr(&text));
        buf_finish(&text);
    }
}

/* -- the choice -- */

static enum pi_status take_replay(struct pi_agent *a, struct model_copy *out,
                                  struct pi_error *err)
{
    const char *file = a->choice.pattern + strlen("replay:");
    if (!*file) {
        return error_set(err, PI_INVALID, "replay: needs a file of recorded turns");
    }
    char *path = path_from(a->cwd, file);
    const struct model model = {
        .id = "replay", .api = "replay", .provider = "replay", .source = path};
    enum pi_status status = path ? model_copy_init(out, &model, err) : error_nomem(err);
    free(path);
    return status;
}

static enum pi_status find(struct pi_agent *a, struct model_copy *out,
                           struct cancel *cancel, struct pi_error *err)
{
    struct choice *c = &a->choice;
    if (is_replay(c->pattern)) {
        return take_replay(a, out, err);
    }
    struct model_wish wish = {
        .origin = c->origin, .provider = c->provider, .pattern = c->pattern};
    struct model_found found = {0};
    enum pi_status status = model_find(a, &found, &wish, cancel, err);
    *out = found.copy;
    if (!status && found.level_given && !c->thinking_given) {
        c->wanted = found.level;
    }
    if (!status && c->origin == CHOICE_USER) {
        status = auth_bind(c->auth, out->model.provider, err);
    }
    if (status) {
        model_copy_finish(out);
    }
    return status;
}

// The model that answered so far goes on; without one, the next prompt looks again.
static enum pi_status keep_old(struct pi_agent *a, enum pi_status status,
                               const struct pi_error *err)
{
    if (!a->model.id) {
        return status;
    }
    struct buf text = {0};
    buf_addf(&text, "The model stays %s/%s: %s", a->model.provider, a->model.id,
             err->message);
    agent_notice(a, "error", buf_cstr(&text));
    buf_finish(&text);
    a->choice.open = false;
    return PI_OK;
}

enum pi_status choice_make(struct pi_agent *a, struct cancel *cancel,
                           struct pi_error *err)
{
    struct choice *c = &a->choice;
    struct pi_error why = {0};
    if (!c->open) {
        return PI_OK;
    }
    struct model_copy found = {0};
    enum pi_status status = find(a, &found, cancel, &why);
    if (status) {
        error_set(err, status, "%s", why.message);
        return keep_old(a, status, &why);
    }
    bool first = !a->model.id;
    model_copy_finish(&c->chosen);
    c->chosen = found;
    a->model = found.model;
    a->tuning = (struct wire_tuning){0}; // was learnt of the old one
    c->open = false;
    fit_thinking(a, !first);
    log_line(a->log, "model %s/%s, thinking %s", a->model.provider, a->model.id,
             thinking_level_name(c->thinking));
    if (!first || strcmp(a->model.api, "replay") != 0) {
        agent_emit(a, event_model_changed(&a->model, c->thinking));
    }
    return PI_OK;
}

void choice_settle(struct pi_agent *a)
{
    // What the options ask for waits for the first prompt.
    if (!a->choice.open || !a->choice.by_command) {
        return;
    }
    struct pi_error err = {0};
    struct cancel *cancel = mailbox_calls_cancel(&a->mailbox);
    if (choice_make(a, cancel, &err)) {
        agent_notice(a, "error", err.message);
    }
    a->choice.by_command = false;
    cancel_unref(cancel);
}

/* -- a request -- */

enum pi_status choice_fill(struct pi_agent *a, struct choice_loan *loan,
                           struct llm_request *request, struct cancel *cancel,
                           struct pi_error *err)
{
    struct choice *c = &a->choice;
    struct buf problems = {0};
    request->session_id = a->session_id;
    request->thinking = c->thinking;
    request->thinking_budgets = a->settings.thinking_budgets;
    request->no_images = a->settings.block_images;
    request->idle_timeout_ms = a->settings.idle_timeout_ms;
    if (strcmp(a->model.api, "replay") == 0) {
        return PI_OK;
    }
    enum pi_status status = auth_refresh(c->auth, &problems, err);
    agent_notice_lines(a, &problems);
    buf_finish(&problems);
    if (!status) {
        status = auth_key(&loan->key, c->auth, &a->model, cancel, err);
    }
    if (!status) {
        status = auth_headers(&loan->headers, c->auth, &a->model, loan->key, cancel, err);
    }
    request->api_key = loan->key;
    request->headers = loan->headers;
    return status;
}

void choice_loan_finish(struct choice_loan *loan)
{
    if (loan->key) {
        explicit_bzero(loan->key, strlen(loan->key));
    }
    free(loan->key);
    json_destroy(loan->headers);
    *loan = (struct choice_loan){0};
}
