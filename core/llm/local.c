#include "llm/local.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "llm/local_read.h"
#include "net/url.h"
#include "sys/clock.h"

enum {
    NEAR_CONNECT_MS = 300,
    FAR_CONNECT_MS = 1500,
    ROUND_MS = 1500, // a round of questions is not waited for any longer
    BODY_MAX = 8 * 1024 * 1024,
    SHOWN_MAX = 64, // models that an Ollama is asked about one by one
};

enum question { ASK_MODELS, ASK_PROPS, ASK_PS, ASK_STUDIO, ASK_OLD_STUDIO, ASK_SHOW };

static const char *const paths[] = {
    [ASK_MODELS] = "/v1/models",
    [ASK_PROPS] = "/props",
    [ASK_PS] = "/api/ps",
    [ASK_STUDIO] = "/api/v1/models",
    [ASK_OLD_STUDIO] = "/api/v0/models",
    [ASK_SHOW] = "/api/show",
};

struct server {
    const struct model_provider *provider;
    struct buf root; // URL without /v1
    struct json *list;
    bool answered, ollama;
};

struct query {
    struct server *server;
    enum question question;
    struct json *model; // ASK_SHOW
    struct buf url, request, body;
    struct http_call *call; // NULL = over
    bool good;
};

struct discovery {
    const struct local_options *options;
    struct server *servers;
    size_t servers_len, servers_cap;
    struct query *queries; // of this round
    size_t queries_len, queries_cap;
};

/* -- a round of questions -- */

static void query_finish(struct query *q)
{
    http_close(q->call);
    buf_finish(&q->url);
    buf_finish(&q->request);
    buf_finish(&q->body);
    *q = (struct query){0};
}

static void clear_round(struct discovery *d)
{
    for (size_t i = 0; i < d->queries_len; i++) {
        query_finish(&d->queries[i]);
    }
    d->queries_len = 0;
}

static bool add_query(struct discovery *d, struct server *s, enum question question,
                      struct json *model)
{
    struct query *grown =
        vec_grow(d->queries, &d->queries_cap, d->queries_len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    d->queries = grown;
    struct query *q = &d->queries[d->queries_len++];
    *q = (struct query){.server = s, .question = question, .model = model};
    buf_addf(&q->url, "%s%s", buf_cstr(&s->root), paths[question]);
    if (model) {
        buf_adds(&q->request, "{\"model\":");
        json_write_string(&q->request, sv_of(json_get_str(model, "id")));
        buf_adds(&q->request, "}");
    }
    return buf_ok(&q->url) && buf_ok(&q->request);
}

static enum pi_status open_query(struct discovery *d, struct query *q,
                                 struct pi_error *err)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    static const char *const none[] = {NULL};
    struct url url;
    bool near = url_parse(&url, buf_sv(&q->url)) && url_reach(url.host) == URL_LOOPBACK;
    const struct http_request request = {
        .url = buf_cstr(&q->url),
        .headers = q->request.len ? headers : none,
        .body = q->request.len ? buf_sv(&q->request) : (struct sv){0},
        .connect_timeout_ms = near ? NEAR_CONNECT_MS : FAR_CONNECT_MS,
    };
    struct pi_error why;
    enum pi_status status = http_open(&q->call, d->options->http, &request, &why);
    return status == PI_NOMEM ? error_nomem(err) : PI_OK;
}

// Takes what has come. False: the query is over.
static bool read_query(struct query *q)
{
    enum pi_status status;
    do {
        status = http_read(q->call, &q->body, NULL);
    } while (status == PI_OK && q->body.len <= BODY_MAX);
    if (status == PI_MORE) {
        return true;
    }
    q->good = status == PI_CLOSED && http_status(q->call) == 200;
    http_close(q->call);
    q->call = NULL;
    return false;
}

static enum pi_status run_round(struct discovery *d, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    struct cancel *cancel = d->options->cancel;
    int64_t end_ms = clock_mono_ms() + ROUND_MS;
    for (size_t i = 0; i < d->queries_len && !status; i++) {
        status = open_query(d, &d->queries[i], err);
    }
    bool waiting = true;
    while (waiting && !status) {
        waiting = false;
        for (size_t i = 0; i < d->queries_len; i++) {
            struct query *q = &d->queries[i];
            waiting = (q->call && read_query(q)) || waiting;
            if (!buf_ok(&q->body)) {
                return error_nomem(err);
            }
        }
        int64_t left = end_ms - clock_mono_ms();
        if (waiting && left > 0) {
            http_wait(d->options->http, cancel ? cancel_fd(cancel) : -1, (int)left);
            status = cancel ? cancel_check(cancel, err) : PI_OK;
        }
        waiting = waiting && left > 0;
    }
    return status;
}

/* -- what is asked -- */

static bool add_server(struct discovery *d, const struct model_provider *p)
{
    if (!p->base_url) {
        return true;
    }
    struct server *grown =
        vec_grow(d->servers, &d->servers_cap, d->servers_len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    d->servers = grown;
    struct server *s = &d->servers[d->servers_len++];
    *s = (struct server){.provider = p, .list = json_new_array()};
    struct sv root = sv_of(p->base_url);
    while (root.n > 0 && root.p[root.n - 1] == '/') {
        root.n--;
    }
    if (sv_ends(root, sv_of("/v1"))) {
        root.n -= strlen("/v1");
    }
    buf_addsv(&s->root, root);
    return s->list && buf_ok(&s->root);
}

static bool add_servers(struct discovery *d, const struct models *t)
{
    const struct model_provider *only = d->options->only;
    for (size_t i = 0; i < models_providers_len(t); i++) {
        const struct model_provider *p = models_provider_at(t, i);
        if (p->discovered && (!only || p == only) && !add_server(d, p)) {
            return false;
        }
    }
    return true;
}

static bool take_answer(const struct query *q)
{
    struct server *s = q->server;
    struct sv body = buf_sv(&q->body);
    bool ollama = false;
    bool ok = true;
    switch (q->question) {
    case ASK_MODELS:
        s->answered = true;
        return local_read_models(s->list, body);
    case ASK_PROPS:
        return local_read_props(s->list, body);
    case ASK_PS:
        ok = local_read_ps(s->list, body, &ollama);
        s->ollama = ollama;
        return ok;
    case ASK_STUDIO:
    case ASK_OLD_STUDIO:
        return local_read_studio(s->list, body);
    case ASK_SHOW:
        return local_read_show(q->model, body);
    }
    return ok;
}

static enum pi_status take_answers(struct discovery *d, struct pi_error *err)
{
    for (size_t i = 0; i < d->queries_len; i++) {
        if (d->queries[i].good && !take_answer(&d->queries[i])) {
            return error_nomem(err);
        }
    }
    return PI_OK;
}

static bool ask_of_server(struct discovery *d, struct server *s, int round)
{
    if (round == 0) {
        return add_query(d, s, ASK_MODELS, NULL);
    }
    if (!s->answered || !json_first(s->list)) {
        return true;
    }
    if (round == 1) {
        return add_query(d, s, ASK_PROPS, NULL) && add_query(d, s, ASK_PS, NULL) &&
               add_query(d, s, ASK_STUDIO, NULL) && add_query(d, s, ASK_OLD_STUDIO, NULL);
    }
    struct json *m = s->ollama ? json_first(s->list) : NULL;
    for (size_t n = 0; m && n < SHOWN_MAX; n++, m = json_next(m)) {
        if (!add_query(d, s, ASK_SHOW, m)) {
            return false;
        }
    }
    return true;
}

static enum pi_status ask(struct discovery *d, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    for (int round = 0; round < 3 && !status; round++) {
        for (size_t i = 0; i < d->servers_len && !status; i++) {
            if (!ask_of_server(d, &d->servers[i], round)) {
                status = error_nomem(err);
            }
        }
        if (!status && d->queries_len > 0) {
            status = run_round(d, err);
        }
        if (!status) {
            status = take_answers(d, err);
        }
        clear_round(d);
    }
    return status;
}

static bool store(const struct discovery *d, struct models *t)
{
    for (size_t i = 0; i < d->servers_len; i++) {
        struct server *s = &d->servers[i];
        if (!local_finish(&s->list)) {
            return false;
        }
        const struct json *m = json_first(s->list);
        for (; m; m = json_next(m)) {
            if (!models_add_found(t, s->provider, json_copy(m))) {
                return false;
            }
        }
        if (s->answered && d->options->answered) {
            buf_addf(d->options->answered, "%s\n", s->provider->name);
        }
    }
    return !d->options->answered || buf_ok(d->options->answered);
}

enum pi_status local_discover(struct models *t, const struct local_options *options,
                              struct pi_error *err)
{
    struct discovery d = {.options = options};
    enum pi_status status = add_servers(&d, t) ? ask(&d, err) : error_nomem(err);
    if (!status && !store(&d, t)) {
        status = error_nomem(err);
    }
    clear_round(&d);
    free(d.queries);
    for (size_t i = 0; i < d.servers_len; i++) {
        buf_finish(&d.servers[i].root);
        json_destroy(d.servers[i].list);
    }
    free(d.servers);
    return status;
}
