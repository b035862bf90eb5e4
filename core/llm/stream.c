#include "llm/provider.h"

#include <string.h>

static const struct provider *const providers[] = {
    &provider_replay,
};

const struct provider *provider_find(const char *api)
{
    for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++) {
        if (strcmp(providers[i]->api, api) == 0) {
            return providers[i];
        }
    }
    return NULL;
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
