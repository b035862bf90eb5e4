// The methods that start, find and end a conversation.

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "host.h"
#include "method.h"
#include "methods.h"
#include "pi_tools.h"

// Any thread.
static void wake(void *data)
{
    const struct server *s = data;
    uint64_t one = 1;
    ssize_t ignored = write(s->wake_fd, &one, sizeof one);
    (void)ignored;
}

static bool says(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static const struct param hello_params[] = {
    PARAM("protocol", PARAM_NUMBER, protocol),
    PARAM("cwd", PARAM_TEXT, options.cwd),
    PARAM("agent_dir", PARAM_TEXT, options.agent_dir),
    PARAM("environment", PARAM_LIST, options.environment),
    PARAM("model", PARAM_TEXT, options.model),
    PARAM("provider", PARAM_TEXT, options.provider),
    PARAM("thinking", PARAM_TEXT, options.thinking),
    PARAM("tools", PARAM_TEXT, options.tools),
    PARAM("system_prompt", PARAM_TEXT, options.system_prompt),
    PARAM("append_system_prompt", PARAM_LIST, options.append_system_prompt),
    PARAM("no_context_files", PARAM_FLAG, options.no_context_files),
    PARAM("permissions", PARAM_TEXT, permissions),
    PARAM("review", PARAM_TEXT, review),
    PARAM("restrict", PARAM_TEXT, options.restrict_dir),
    PARAM("session_dir", PARAM_TEXT, options.session_dir),
    PARAM("no_session", PARAM_FLAG, options.no_session),
    PARAM("resume", PARAM_TEXT, resume),
    PARAM("continue", PARAM_FLAG, go_on),
    PARAM("guard", PARAM_TEXT, options.guard_path),
    PARAM("log", PARAM_TEXT, options.log_path),
    {0},
};

static enum pi_status check_words(const struct arguments *a, struct pi_error *err)
{
    if (a->permissions && !says(a->permissions, "ask") && !says(a->permissions, "yolo")) {
        return error_set(err, PI_INVALID, "permissions are ask or yolo, not \"%s\"",
                         a->permissions);
    }
    if (a->review && !says(a->review, "after") && !says(a->review, "before")) {
        return error_set(err, PI_INVALID, "review is after or before, not \"%s\"",
                         a->review);
    }
    return PI_OK;
}

static void pack_pair(struct pack *p, const char *name, const char *text)
{
    pack_text(p, sv_of(name));
    pack_text(p, sv_of(text));
}

// What Neovim wants to know of the agent. The header is JSON; the file is "" when the
// session is not kept.
static void describe(const pi_agent *agent, struct pack *result)
{
    pack_map(result, 4);
    pack_pair(result, "version", pi_version());
    pack_pair(result, "session", pi_agent_session_id(agent));
    pack_pair(result, "file", pi_agent_session_path(agent));
    pack_pair(result, "header", pi_agent_session_header(agent));
}

static enum pi_status create(struct server *s, const struct arguments *a,
                             struct pi_error *err)
{
    struct pi_agent_options o = a->options;
    o.version = PI_AGENT_OPTIONS_VERSION;
    o.permissions =
        says(a->permissions, "yolo") ? PI_PERMISSIONS_YOLO : PI_PERMISSIONS_ASK;
    o.review = says(a->review, "before") ? PI_REVIEW_BEFORE : PI_REVIEW_AFTER;
    o.definitions = pi_tools_builtin(&o.definitions_len);
    o.host = &host_of_neovim;
    o.host_data = s;
    o.wake = wake;
    o.wake_data = s;
    char *session = NULL;
    enum pi_status status = PI_OK;
    if (a->resume || a->go_on) {
        status = pi_session_find(&session, &o, a->resume, err);
        o.session = session;
    }
    if (status == PI_OK) {
        status = pi_agent_create(&s->agent, &o, err);
    }
    pi_free(session);
    return status;
}

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
    enum pi_status status = check_words(a, err);
    if (status == PI_OK) {
        status = create(s, a, err);
    }
    if (status == PI_OK) {
        describe(s->agent, result);
    }
    return status;
}

static const struct param sessions_params[] = {
    PARAM("cwd", PARAM_TEXT, options.cwd),
    PARAM("agent_dir", PARAM_TEXT, options.agent_dir),
    PARAM("session_dir", PARAM_TEXT, options.session_dir),
    {0},
};

static enum pi_status sessions(struct server *s, const struct arguments *a,
                               struct pack *result, struct pi_error *err)
{
    (void)s;
    char *json;
    enum pi_status status = pi_sessions_json(&json, &a->options, err);
    if (status == PI_OK) {
        pack_text(result, sv_of(json));
        pi_free(json);
    }
    return status;
}

static const struct param name_params[] = {
    PARAM("name", PARAM_TEXT, name),
    {0},
};

static enum pi_status session_name(struct server *s, const struct arguments *a,
                                   struct pack *result, struct pi_error *err)
{
    (void)result;
    return pi_agent_set_session_name(s->agent, a->name ? a->name : "", err);
}

static enum pi_status shut_down(struct server *s, const struct arguments *a,
                                struct pack *result, struct pi_error *err)
{
    (void)a, (void)result, (void)err;
    s->over = true;
    return PI_OK;
}

const struct method methods_of_session[] = {
    {"hello", true, hello, hello_params},
    {"sessions", true, sessions, sessions_params},
    {"session_name", false, session_name, name_params},
    {"shutdown", true, shut_down, NULL},
    {0},
};
