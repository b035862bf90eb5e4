// The way of the face's wishes into the agent: each becomes a command in the mailbox.

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/model_choice.h"

static struct message *user_message(const char *text, const struct pi_image *images,
                                    size_t len)
{
    struct message *m = message_create(ROLE_USER);
    bool ok = m && content_add_text(&m->content, sv_of(text));
    for (size_t i = 0; ok && i < len; i++) {
        struct block *b = content_add(&m->content, BLOCK_IMAGE);
        ok = b != NULL;
        if (b) {
            b->mime_type = agent_copy(images[i].mime_type, &ok);
            buf_adds(&b->text, images[i].data);
            ok = ok && buf_ok(&b->text);
        }
    }
    if (!ok) {
        message_destroy(m);
        return NULL;
    }
    return m;
}

enum pi_status pi_agent_prompt(pi_agent *a, const char *text,
                               const struct pi_image *images, size_t images_len,
                               enum pi_delivery delivery, struct pi_error *err)
{
    static const enum command_type types[] = {
        [PI_DELIVER_PROMPT] = COMMAND_PROMPT,
        [PI_DELIVER_STEER] = COMMAND_STEER,
        [PI_DELIVER_FOLLOW_UP] = COMMAND_FOLLOW_UP,
    };
    if (text[strspn(text, " \t\r\n")] == '\0' && images_len == 0) {
        return error_set(err, PI_INVALID, "the message is empty");
    }
    struct command *c = command_create(types[delivery]);
    if (c) {
        c->message = user_message(text, images, images_len);
    }
    if (!c || !c->message) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_start(&a->mailbox, c, err);
}

enum pi_status pi_agent_continue(pi_agent *a, struct pi_error *err)
{
    return mailbox_start(&a->mailbox, command_create(COMMAND_CONTINUE), err);
}

void pi_agent_abort(pi_agent *a)
{
    mailbox_abort(&a->mailbox, false);
}

void pi_agent_set_queue_mode(pi_agent *a, enum pi_delivery queue, bool all)
{
    struct command *c = command_create(COMMAND_QUEUE_MODE);
    if (c) {
        c->delivery = queue;
        c->flag = all;
        mailbox_command(&a->mailbox, c, NULL);
    }
}

void pi_agent_clear_queue(pi_agent *a)
{
    struct command *c = command_create(COMMAND_CLEAR_QUEUE);
    if (c) {
        mailbox_command(&a->mailbox, c, NULL);
    }
}

// A command with nothing but a text.
static enum pi_status send_text(struct pi_agent *a, enum command_type type,
                                const char *text, struct pi_error *err)
{
    struct command *c = command_create(type);
    if (c) {
        buf_adds(&c->text, text);
    }
    if (!c || !buf_ok(&c->text)) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_set_tools(pi_agent *a, const char *tools, struct pi_error *err)
{
    enum pi_status status = registry_set_active(&a->names, tools, err);
    return status ? status : send_text(a, COMMAND_SET_TOOLS, tools, err);
}

// Both sides learn of a tool in the same order.
enum pi_status pi_agent_add_tool(pi_agent *a, const struct pi_added_tool *tool,
                                 struct pi_error *err)
{
    struct added_tool *added = NULL;
    enum pi_status status = added_tool_create(&added, tool, err);
    if (status) {
        return status;
    }
    const struct tool *old = registry_find_any(&a->names, tool->name);
    if (old && old->definition->source == TOOL_BUILTIN) {
        added_tool_destroy(added);
        return error_set(err, PI_INVALID, "%s is the name of a built-in tool",
                         tool->name);
    }
    struct command *c = command_create(COMMAND_ADD_TOOL);
    status = c ? registry_add(&a->names, &added->definition, err) : error_nomem(err);
    if (status) {
        added_tool_destroy(added);
        command_destroy(c);
        return status;
    }
    added->next = a->added;
    a->added = added;
    c->added = &added->definition;
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_remove_tool(pi_agent *a, const char *name, struct pi_error *err)
{
    const struct tool *old = registry_find_any(&a->names, name);
    if (!old || old->definition->source == TOOL_BUILTIN) {
        return error_set(err, PI_NOT_FOUND, "no tool %.80s was added", name);
    }
    registry_remove(&a->names, name);
    return send_text(a, COMMAND_REMOVE_TOOL, name, err);
}

void pi_agent_set_review(pi_agent *a, enum pi_review review)
{
    atomic_store(&a->review_first, review == PI_REVIEW_BEFORE);
}

enum pi_status pi_agent_add_note(pi_agent *a, const char *text, struct pi_error *err)
{
    return send_text(a, COMMAND_NOTE, text, err);
}

enum pi_status pi_agent_list_messages(pi_agent *a, size_t max, struct pi_error *err)
{
    struct command *c = command_create(COMMAND_LIST_MESSAGES);
    if (!c) {
        return error_nomem(err);
    }
    c->number = (int64_t)max;
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_set_model(pi_agent *a, const char *provider, const char *model,
                                  struct pi_error *err)
{
    if ((!provider || !*provider) && (!model || !*model)) {
        return error_set(err, PI_INVALID, "neither a model nor a provider was named");
    }
    struct command *c = command_create(COMMAND_SET_MODEL);
    bool ok = c != NULL;
    if (c) {
        c->id = agent_copy(provider && *provider ? provider : NULL, &ok);
        c->name = agent_copy(model && *model ? model : NULL, &ok);
    }
    if (!ok) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_set_thinking(pi_agent *a, const char *level, struct pi_error *err)
{
    enum thinking_level wanted;
    enum pi_status status = choice_parse_level(&wanted, level, err);
    if (status) {
        return status;
    }
    struct command *c = command_create(COMMAND_SET_THINKING);
    if (!c) {
        return error_nomem(err);
    }
    c->number = wanted;
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_list_models(pi_agent *a, const char *query, struct pi_error *err)
{
    return send_text(a, COMMAND_LIST_MODELS, query ? query : "", err);
}

enum pi_status pi_agent_call_tool(pi_agent *a, const struct pi_tool_call *call,
                                  struct pi_error *err)
{
    struct command *c = command_create(COMMAND_CALL_TOOL);
    bool ok = c != NULL;
    if (c) {
        c->id = agent_copy(call->id, &ok);
        c->name = agent_copy(call->name, &ok);
        c->cwd = agent_copy(call->cwd, &ok);
        c->number = call->abort_after_ms;
        c->cancel = mailbox_calls_cancel(&a->mailbox);
        buf_add(&c->text, call->arguments, call->arguments_len);
        ok = ok && buf_ok(&c->text);
    }
    if (!ok) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_command(&a->mailbox, c, err);
}

void pi_agent_answer_permission(pi_agent *a, const char *id, enum pi_permission answer,
                                const char *reason)
{
    struct command *c = command_create(COMMAND_ANSWER);
    bool ok = c != NULL;
    if (c) {
        c->id = agent_copy(id, &ok);
        c->number = answer;
        buf_adds(&c->text, reason ? reason : "");
        ok = ok && buf_ok(&c->text);
    }
    if (!ok) {
        command_destroy(c);
        return; // the question stays open and can be answered again
    }
    mailbox_command(&a->mailbox, c, NULL);
}

char *pi_agent_system_prompt(pi_agent *a)
{
    pthread_mutex_lock(&a->mailbox.lock);
    char *copy = strdup(buf_cstr(&a->shared_prompt));
    pthread_mutex_unlock(&a->mailbox.lock);
    return copy;
}

const char *pi_agent_session_id(const pi_agent *a)
{
    return a->session_id;
}

const char *pi_agent_session_path(const pi_agent *a)
{
    return session_path(a->session);
}

const char *pi_agent_session_header(const pi_agent *a)
{
    return session_header(a->session);
}

enum pi_status pi_agent_set_session_name(pi_agent *a, const char *name,
                                         struct pi_error *err)
{
    return send_text(a, COMMAND_SET_NAME, name, err);
}

void pi_free(void *memory)
{
    free(memory);
}
