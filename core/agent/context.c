#include "agent/context.h"

#include <stdlib.h>

void context_finish(struct context *c)
{
    queue_finish(&c->transcript);
    buf_finish(&c->system_prompt);
}

static bool is_failed_answer(const struct message *m)
{
    return m->role == ROLE_ASSISTANT &&
           (m->stop_reason == STOP_ERROR || m->stop_reason == STOP_ABORTED);
}

static size_t failed_answers(const struct context *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->transcript.len; i++) {
        n += is_failed_answer(c->transcript.items[i]);
    }
    return n;
}

static size_t visible_messages(const struct context *c, struct message **out)
{
    size_t n = 0;
    bool skipping = false; // results that belong to a failed answer
    for (size_t i = 0; i < c->transcript.len; i++) {
        struct message *m = c->transcript.items[i];
        if (m->role != ROLE_TOOL_RESULT) {
            skipping = is_failed_answer(m);
        }
        if (!skipping) {
            out[n++] = m;
        }
    }
    return n;
}

enum pi_status context_build(struct context_request *out, const struct context *c,
                             const struct registry *registry, struct pi_error *err)
{
    *out = (struct context_request){0};
    out->messages = calloc(c->transcript.len + 1, sizeof *out->messages);
    out->tools = calloc(registry->active_len + 1, sizeof *out->tools);
    if (!out->messages || !out->tools) {
        context_request_finish(out);
        return error_nomem(err);
    }
    for (size_t i = 0; i < registry->active_len; i++) {
        const struct tool *tool = &registry->tools[registry->active[i]];
        out->tools[i] = (struct tool_schema){
            .name = tool->name,
            .description = tool->description,
            .parameters = tool->parameters,
        };
    }
    out->request = (struct llm_request){
        .system_prompt = buf_cstr(&c->system_prompt),
        .messages = out->messages,
        .messages_len = visible_messages(c, out->messages),
        .failed = failed_answers(c),
        .tools = out->tools,
        .tools_len = registry->active_len,
    };
    return PI_OK;
}

void context_request_finish(struct context_request *r)
{
    free(r->messages);
    free(r->tools);
    *r = (struct context_request){0};
}
