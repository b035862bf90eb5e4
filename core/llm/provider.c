#include "llm/provider.h"

#include <stdlib.h>
#include <string.h>

#include "llm/wire.h"

const struct wire *wire_find(const char *api)
{
    static const struct wire *const wires[] = {&wire_anthropic, &wire_openai_chat, NULL};
    for (size_t i = 0; wires[i]; i++) {
        if (strcmp(wires[i]->api, api) == 0) {
            return wires[i];
        }
    }
    return NULL;
}

const struct provider *provider_find(const char *api)
{
    if (strcmp(api, provider_replay.api) == 0) {
        return &provider_replay;
    }
    return wire_find(api) ? &provider_http : NULL;
}

bool provider_name_message(struct message *m, const struct model *model)
{
    m->api = strdup(model->api);
    m->provider = strdup(model->provider);
    m->model = strdup(model->id);
    return m->api && m->provider && m->model;
}

const char *llm_event_name(enum llm_event_type type)
{
    static const char *const names[] = {
        [LLM_START] = "start",
        [LLM_TEXT_START] = "text_start",
        [LLM_TEXT_DELTA] = "text_delta",
        [LLM_TEXT_END] = "text_end",
        [LLM_THINKING_START] = "thinking_start",
        [LLM_THINKING_DELTA] = "thinking_delta",
        [LLM_THINKING_END] = "thinking_end",
        [LLM_TOOL_CALL_START] = "toolcall_start",
        [LLM_TOOL_CALL_DELTA] = "toolcall_delta",
        [LLM_TOOL_CALL_END] = "toolcall_end",
        [LLM_DONE] = "done",
        [LLM_ERROR] = "error",
    };
    return names[type];
}
