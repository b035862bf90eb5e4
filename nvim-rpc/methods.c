#include "methods.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "host.h"
#include "params.h"
#include "pi_tools.h"

// What a method gets; each takes what it needs.
struct arguments {
    uint64_t protocol;
    struct pi_agent_options options;
    bool yolo;

    const char *text, *delivery;

    uint64_t id;
    const char *status;
    struct pi_host_answer answer;

    const char *question, *permission, *reason;
};

#define PARAM(name, kind, member)                                                        \
    {                                                                                    \
        name, kind, offsetof(struct arguments, member), 0                                \
    }

struct method {
    const char *name;
    bool before_hello;
    enum pi_status (*run)(struct server *s, const struct arguments *a,
                          struct pack *result, struct pi_error *err);
    const struct param *params;
};

// Any thread.
static void wake(void *data)
{
    const struct server *s = data;
    uint64_t one = 1;
    ssize_t ignored = write(s->wake_fd, &one, sizeof one);
    (void)ignored;
}

static const struct param hello_params[] = {
    PARAM("protocol", PARAM_NUMBER, protocol),
    PARAM("cwd", PARAM_TEXT, options.cwd),
    PARAM("agent_dir", PARAM_TEXT, options.agent_dir),
    PARAM("model", PARAM_TEXT, options.model),
    PARAM("tools", PARAM_TEXT, options.tools),
    PARAM("log", PARAM_TEXT, options.log_path),
    PARAM("no_context_files", PARAM_FLAG, options.no_context_files),
    PARAM("yolo", PARAM_FLAG, yolo),
    {0},
};

static enum pi_status hello(struct server *s, const struct arguments *a,
                            struct pack *result, struct pi_error *err)
{
    if (a->protocol != METHODS_PROTOCOL) {
        return error_set(
            err, PI_UNSUPPORTED,
            "pi-nvim %s speaks protocol %d and the plugin %llu: install both "
            "from one version of pi",
            pi_version(), METHODS_PROTOCOL, (unsigned long long)a->protocol);
    }
    if (s->agent) {
        return error_set(err, PI_INVALID, "hello was said already");
    }
    struct pi_agent_options o = a->options;
    o.version = PI_AGENT_OPTIONS_VERSION;
    o.permissions = a->yolo ? PI_PERMISSIONS_YOLO : PI_PERMISSIONS_ASK;
    o.definitions = pi_tools_builtin(&o.definitions_len);
    o.host = &host_of_neovim;
    o.host_data = s;
    o.wake = wake;
    o.wake_data = s;
    enum pi_status status = pi_agent_create(&s->agent, &o, err);
    if (status == PI_OK) {
        pack_map(result, 2);
        pack_text(result, sv_of("version"));
        pack_text(result, sv_of(pi_version()));
        pack_text(result, sv_of("session"));
        pack_text(result, sv_of(pi_agent_session_id(s->agent)));
    }
    return status;
}

static const struct param prompt_params[] = {
    PARAM("text", PARAM_TEXT, text),
    PARAM("delivery", PARAM_TEXT, delivery),
    {0},
};

static enum pi_status prompt(struct server *s, const struct arguments *a,
                             struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->text) {
        return error_set(err, PI_INVALID, "a prompt needs a text");
    }
    bool steer = a->delivery && strcmp(a->delivery, "steer") == 0;
    return pi_agent_prompt(s->agent, a->text, NULL, 0,
                           steer ? PI_DELIVER_STEER : PI_DELIVER_FOLLOW_UP, err);
}

static const struct param no_params[] = {{0}};

static enum pi_status stop(struct server *s, const struct arguments *a,
                           struct pack *result, struct pi_error *err)
{
    (void)a, (void)result, (void)err;
    pi_agent_abort(s->agent);
    return PI_OK;
}

#define ANSWER(name, kind, member)                                                       \
    {                                                                                    \
        name, kind, offsetof(struct arguments, answer.member), 0                         \
    }

static const struct param answer_host_params[] = {
    PARAM("id", PARAM_NUMBER, id),
    PARAM("status", PARAM_TEXT, status),
    ANSWER("message", PARAM_TEXT, message),
    {"text", PARAM_TEXT, offsetof(struct arguments, answer.text),
     offsetof(struct arguments, answer.text_len)},
    ANSWER("version", PARAM_NUMBER, version),
    ANSWER("unsaved", PARAM_FLAG, unsaved),
    ANSWER("saved", PARAM_FLAG, saved),
    {0},
};

static enum pi_status answer_host(struct server *s, const struct arguments *a,
                                  struct pack *result, struct pi_error *err)
{
    (void)result, (void)err;
    struct pi_host_answer answer = a->answer;
    answer.status = host_status(a->status);
    pi_agent_answer_host(s->agent, a->id, &answer);
    return PI_OK;
}

static const struct param answer_permission_params[] = {
    PARAM("id", PARAM_TEXT, question),
    PARAM("answer", PARAM_TEXT, permission),
    PARAM("reason", PARAM_TEXT, reason),
    {0},
};

static enum pi_status answer_permission(struct server *s, const struct arguments *a,
                                        struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->question || !a->permission) {
        return error_set(err, PI_INVALID, "an answer needs an id and the answer");
    }
    enum pi_permission answer = PI_PERMISSION_DENY;
    if (strcmp(a->permission, "once") == 0) {
        answer = PI_PERMISSION_ONCE;
    } else if (strcmp(a->permission, "session") == 0) {
        answer = PI_PERMISSION_SESSION;
    }
    pi_agent_answer_permission(s->agent, a->question, answer, a->reason);
    return PI_OK;
}

static enum pi_status shut_down(struct server *s, const struct arguments *a,
                                struct pack *result, struct pi_error *err)
{
    (void)a, (void)result, (void)err;
    s->over = true;
    return PI_OK;
}

static const struct method methods[] = {
    {"hello", true, hello, hello_params},
    {"prompt", false, prompt, prompt_params},
    {"abort", false, stop, no_params},
    {"answer_host", false, answer_host, answer_host_params},
    {"answer_permission", false, answer_permission, answer_permission_params},
    {"shutdown", true, shut_down, no_params},
};

static const struct method *find(const msgpack_object *name)
{
    for (size_t i = 0;
         name->type == MSGPACK_OBJECT_STR && i < sizeof methods / sizeof *methods; i++) {
        if (sv_eqs(sv_make(name->via.str.ptr, name->via.str.size), methods[i].name)) {
            return &methods[i];
        }
    }
    return NULL;
}

enum pi_status methods_call(struct server *s, const msgpack_object *method,
                            const msgpack_object *params, struct pack *result,
                            struct pi_error *err)
{
    static const msgpack_object nothing = {.type = MSGPACK_OBJECT_MAP};
    const struct method *m = find(method);
    if (!m) {
        return error_set(err, PI_NOT_FOUND, "pi-nvim has no such method");
    }
    if (!s->agent && !m->before_hello) {
        return error_set(err, PI_INVALID, "%s comes after hello", m->name);
    }
    struct arguments a = {.options = PI_AGENT_OPTIONS_INIT};
    struct param_texts texts = {0};
    bool given = params->type == MSGPACK_OBJECT_ARRAY && params->via.array.size > 0;
    enum pi_status status =
        params_read(given ? params->via.array.ptr : &nothing, m->params, &a, &texts, err);
    if (status == PI_OK) {
        status = m->run(s, &a, result, err);
    }
    param_texts_finish(&texts);
    return status;
}
