// The methods that steer a conversation and answer it.

#include <string.h>

#include "base/error.h"
#include "host.h"
#include "method.h"

// The index of a word in a list that ends with NULL; `missing` when it is not given, -1
// when it is not in the list.
static int choice(const char *const *words, const char *word, int missing)
{
    for (int i = 0; word && words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return word ? -1 : missing;
}

static const struct param prompt_params[] = {
    PARAM("text", PARAM_TEXT, text),
    PARAM("delivery", PARAM_TEXT, delivery),
    {0},
};

static enum pi_status prompt(struct server *s, const struct arguments *a,
                             struct pack *result, struct pi_error *err)
{
    static const char *const deliveries[] = {
        [PI_DELIVER_PROMPT] = "prompt",
        [PI_DELIVER_STEER] = "steer",
        [PI_DELIVER_FOLLOW_UP] = "follow_up",
        NULL,
    };
    (void)result;
    int delivery = choice(deliveries, a->delivery, PI_DELIVER_FOLLOW_UP);
    if (!a->text || delivery < 0) {
        return error_set(err, PI_INVALID,
                         "a prompt needs a text, and a delivery is prompt, steer or "
                         "follow_up");
    }
    return pi_agent_prompt(s->agent, a->text, NULL, 0, (enum pi_delivery)delivery, err);
}

static enum pi_status stop(struct server *s, const struct arguments *a,
                           struct pack *result, struct pi_error *err)
{
    (void)a, (void)result, (void)err;
    pi_agent_abort(s->agent);
    return PI_OK;
}

static const struct param model_params[] = {
    PARAM("provider", PARAM_TEXT, provider),
    PARAM("model", PARAM_TEXT, model),
    {0},
};

static enum pi_status set_model(struct server *s, const struct arguments *a,
                                struct pack *result, struct pi_error *err)
{
    (void)result;
    return pi_agent_set_model(s->agent, a->provider, a->model, err);
}

static const struct param thinking_params[] = {
    PARAM("level", PARAM_TEXT, level),
    {0},
};

static enum pi_status set_thinking(struct server *s, const struct arguments *a,
                                   struct pack *result, struct pi_error *err)
{
    (void)result;
    return pi_agent_set_thinking(s->agent, a->level ? a->level : "", err);
}

static enum pi_status list_models(struct server *s, const struct arguments *a,
                                  struct pack *result, struct pi_error *err)
{
    (void)a, (void)result;
    return pi_agent_list_models(s->agent, NULL, err);
}

static const struct param review_params[] = {
    PARAM("review", PARAM_TEXT, review),
    {0},
};

static enum pi_status set_review(struct server *s, const struct arguments *a,
                                 struct pack *result, struct pi_error *err)
{
    static const char *const reviews[] = {
        [PI_REVIEW_AFTER] = "after",
        [PI_REVIEW_BEFORE] = "before",
        NULL,
    };
    (void)result;
    int review = choice(reviews, a->review, -1);
    if (review < 0) {
        return error_set(err, PI_INVALID, "review is after or before");
    }
    pi_agent_set_review(s->agent, (enum pi_review)review);
    return PI_OK;
}

static const struct param note_params[] = {
    PARAM("text", PARAM_TEXT, text),
    {0},
};

static enum pi_status add_note(struct server *s, const struct arguments *a,
                               struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->text) {
        return error_set(err, PI_INVALID, "a note needs a text");
    }
    return pi_agent_add_note(s->agent, a->text, err);
}

static const struct param list_messages_params[] = {
    PARAM("max", PARAM_NUMBER, max),
    {0},
};

static enum pi_status list_messages(struct server *s, const struct arguments *a,
                                    struct pack *result, struct pi_error *err)
{
    (void)result;
    return pi_agent_list_messages(s->agent, (size_t)a->max, err);
}

static const struct param add_tool_params[] = {
    PARAM("name", PARAM_TEXT, tool.name),
    PARAM("label", PARAM_TEXT, tool.label),
    PARAM("description", PARAM_TEXT, tool.description),
    PARAM("parameters", PARAM_TEXT, tool.parameters),
    PARAM("snippet", PARAM_TEXT, tool.snippet),
    PARAM("title", PARAM_TEXT, tool.title),
    PARAM("reads", PARAM_FLAG, tool.reads),
    {0},
};

static enum pi_status add_tool(struct server *s, const struct arguments *a,
                               struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->tool.name || !a->tool.description) {
        return error_set(err, PI_INVALID, "a tool needs a name and a description");
    }
    return pi_agent_add_tool(s->agent, &a->tool, err);
}

static const struct param remove_tool_params[] = {
    PARAM("name", PARAM_TEXT, name),
    {0},
};

static enum pi_status remove_tool(struct server *s, const struct arguments *a,
                                  struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->name) {
        return error_set(err, PI_INVALID, "which tool is to go?");
    }
    return pi_agent_remove_tool(s->agent, a->name, err);
}

static const struct param call_params[] = {
    PARAM("id", PARAM_TEXT, call.id),
    PARAM("name", PARAM_TEXT, call.name),
    PARAM_BYTES("arguments", call.arguments),
    PARAM("cwd", PARAM_TEXT, call.cwd),
    {0},
};

static enum pi_status call_tool(struct server *s, const struct arguments *a,
                                struct pack *result, struct pi_error *err)
{
    (void)result;
    if (!a->call.id || !a->call.name || !a->call.arguments) {
        return error_set(err, PI_INVALID, "a call needs an id, a name and arguments");
    }
    return pi_agent_call_tool(s->agent, &a->call, err);
}

static const struct param answer_host_params[] = {
    PARAM("id", PARAM_NUMBER, id),
    PARAM("status", PARAM_TEXT, status),
    PARAM("message", PARAM_TEXT, answer.message),
    PARAM_BYTES("text", answer.text),
    PARAM("version", PARAM_NUMBER, answer.version),
    PARAM("unsaved", PARAM_FLAG, answer.unsaved),
    PARAM("saved", PARAM_FLAG, answer.saved),
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
    static const char *const answers[] = {
        [PI_PERMISSION_ONCE] = "once",
        [PI_PERMISSION_SESSION] = "session",
        [PI_PERMISSION_DENY] = "deny",
        NULL,
    };
    (void)result;
    int answer = choice(answers, a->permission, -1);
    if (!a->question || answer < 0) {
        return error_set(err, PI_INVALID,
                         "an answer needs an id, and is once, session or deny");
    }
    pi_agent_answer_permission(s->agent, a->question, (enum pi_permission)answer,
                               a->reason);
    return PI_OK;
}

const struct method methods_of_run[] = {
    {"prompt", false, prompt, prompt_params},
    {"abort", false, stop, NULL},
    {"set_model", false, set_model, model_params},
    {"set_thinking", false, set_thinking, thinking_params},
    {"list_models", false, list_models, NULL},
    {"set_review", false, set_review, review_params},
    {"add_note", false, add_note, note_params},
    {"list_messages", false, list_messages, list_messages_params},
    {"add_tool", false, add_tool, add_tool_params},
    {"remove_tool", false, remove_tool, remove_tool_params},
    {"call_tool", false, call_tool, call_params},
    {"answer_host", false, answer_host, answer_host_params},
    {"answer_permission", false, answer_permission, answer_permission_params},
    {0},
};
