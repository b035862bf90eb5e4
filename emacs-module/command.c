#include "command.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "fields.h"
#include "value.h"

// The fields of all commands; each command uses a few.
struct command_fields {
    struct pi_added_tool tool;
    const char *model, *provider, *level, *tools, *query, *text;
    const char *id, *arguments, *cwd;
    size_t arguments_len;
    uint64_t max, timeout_ms;
    bool before;
};

#define TEXT(name, member)                                                               \
    {                                                                                    \
        name, FIELD_TEXT, offsetof(struct command_fields, member), 0                     \
    }

static const struct field command_fields[] = {
    TEXT(":name", tool.name),
    TEXT(":label", tool.label),
    TEXT(":description", tool.description),
    TEXT(":parameters", tool.parameters),
    TEXT(":snippet", tool.snippet),
    TEXT(":title", tool.title),
    {":reads", FIELD_FLAG, offsetof(struct command_fields, tool.reads), 0},
    TEXT(":model", model),
    TEXT(":provider", provider),
    TEXT(":level", level),
    TEXT(":tools", tools),
    TEXT(":query", query),
    TEXT(":text", text),
    TEXT(":id", id),
    {":arguments", FIELD_TEXT, offsetof(struct command_fields, arguments),
     offsetof(struct command_fields, arguments_len)},
    TEXT(":cwd", cwd),
    {":max", FIELD_NUMBER, offsetof(struct command_fields, max), 0},
    {":timeout-ms", FIELD_NUMBER, offsetof(struct command_fields, timeout_ms), 0},
    {":before", FIELD_FLAG, offsetof(struct command_fields, before), 0},
    {0},
};

typedef enum pi_status command_function(pi_agent *agent, const struct command_fields *f,
                                        struct pi_error *err);

static enum pi_status do_set_model(pi_agent *a, const struct command_fields *f,
                                   struct pi_error *err)
{
    return pi_agent_set_model(a, f->provider, f->model, err);
}

static enum pi_status do_set_thinking(pi_agent *a, const struct command_fields *f,
                                      struct pi_error *err)
{
    return pi_agent_set_thinking(a, f->level, err);
}

static enum pi_status do_list_models(pi_agent *a, const struct command_fields *f,
                                     struct pi_error *err)
{
    return pi_agent_list_models(a, f->query, err);
}

static enum pi_status do_set_tools(pi_agent *a, const struct command_fields *f,
                                   struct pi_error *err)
{
    return pi_agent_set_tools(a, f->tools, err);
}

static enum pi_status do_set_review(pi_agent *a, const struct command_fields *f,
                                    struct pi_error *err)
{
    (void)err;
    pi_agent_set_review(a, f->before ? PI_REVIEW_BEFORE : PI_REVIEW_AFTER);
    return PI_OK;
}

static enum pi_status do_session_name(pi_agent *a, const struct command_fields *f,
                                      struct pi_error *err)
{
    return pi_agent_set_session_name(a, f->text ? f->text : "", err);
}

static enum pi_status do_add_tool(pi_agent *a, const struct command_fields *f,
                                  struct pi_error *err)
{
    return pi_agent_add_tool(a, &f->tool, err);
}

static enum pi_status do_remove_tool(pi_agent *a, const struct command_fields *f,
                                     struct pi_error *err)
{
    return pi_agent_remove_tool(a, f->tool.name, err);
}

static enum pi_status do_add_note(pi_agent *a, const struct command_fields *f,
                                  struct pi_error *err)
{
    return pi_agent_add_note(a, f->text, err);
}

static enum pi_status do_list_messages(pi_agent *a, const struct command_fields *f,
                                       struct pi_error *err)
{
    return pi_agent_list_messages(a, (size_t)f->max, err);
}

static enum pi_status do_call_tool(pi_agent *a, const struct command_fields *f,
                                   struct pi_error *err)
{
    struct pi_tool_call call = {
        .id = f->id,
        .name = f->tool.name,
        .arguments = f->arguments,
        .arguments_len = f->arguments_len,
        .cwd = f->cwd,
        .abort_after_ms = f->timeout_ms ? (int64_t)f->timeout_ms : -1,
    };
    if (!f->id || !f->tool.name || !f->arguments) {
        return error_set(err, PI_INVALID, "a call needs :id, :name and :arguments");
    }
    return pi_agent_call_tool(a, &call, err);
}

static enum pi_status do_clear_queue(pi_agent *a, const struct command_fields *f,
                                     struct pi_error *err)
{
    (void)f, (void)err;
    pi_agent_clear_queue(a);
    return PI_OK;
}

static enum pi_status do_continue(pi_agent *a, const struct command_fields *f,
                                  struct pi_error *err)
{
    (void)f;
    return pi_agent_continue(a, err);
}

static const struct {
    const char *name;
    command_function *run;
} commands[] = {
    {"set-model", do_set_model},     {"set-thinking", do_set_thinking},
    {"list-models", do_list_models}, {"set-tools", do_set_tools},
    {"set-review", do_set_review},   {"session-name", do_session_name},
    {"add-tool", do_add_tool},       {"remove-tool", do_remove_tool},
    {"add-note", do_add_note},       {"list-messages", do_list_messages},
    {"call-tool", do_call_tool},     {"clear-queue", do_clear_queue},
    {"continue", do_continue},
};

void command_run(emacs_env *env, pi_agent *agent, emacs_value name, emacs_value fields)
{
    struct command_fields f = {0};
    struct field_texts texts = {0};
    struct pi_error err;
    command_function *run = NULL;
    for (size_t i = 0; !run && i < sizeof commands / sizeof *commands; i++) {
        run = value_is(env, name, commands[i].name) ? commands[i].run : NULL;
    }
    if (value_ok(env) && !run) {
        value_signal_status(env, PI_INVALID, "no such command");
    }
    if (value_ok(env) && fields_read(env, fields, command_fields, &f, &texts) &&
        run(agent, &f, &err)) {
        value_signal(env, &err);
    }
    field_texts_finish(&texts);
}

emacs_value command_info(emacs_env *env, pi_agent *agent, emacs_value name)
{
    char *owned = NULL;
    const char *text = NULL;
    if (value_is(env, name, "session-id")) {
        text = pi_agent_session_id(agent);
    } else if (value_is(env, name, "session-path")) {
        text = pi_agent_session_path(agent);
    } else if (value_is(env, name, "system-prompt")) {
        text = owned = pi_agent_system_prompt(agent);
    } else {
        value_signal_status(env, PI_INVALID, "no such information");
    }
    emacs_value value = text ? value_bytes(env, sv_of(text)) : value_nil(env);
    pi_free(owned);
    return value;
}
