#include "llm/quirks.h"

#include <string.h>

#include "llm/wire_build.h"

struct row {
    const char *provider; // or NULL: the host alone decides
    const char *host;     // or NULL
    struct quirks quirks;
};

static const struct row rows[] = {
    {NULL,
     "api.openai.com",
     {.store = true,
      .developer_role = true,
      .effort = true,
      .max_completion_tokens = true,
      .cache_key = true}},
    {NULL,
     "azure.com",
     {.developer_role = true, .effort = true, .max_completion_tokens = true}},
    {"openrouter", "openrouter.ai", {.format = QUIRKS_OPENROUTER, .details = true}},
    {"deepseek",
     "deepseek.com",
     {.format = QUIRKS_DEEPSEEK,
      .effort = true,
      .thinking_back = true,
      .thinking_always = true}},
    {"mistral",
     "mistral.ai",
     {.ids = CALL_IDS_MISTRAL, .no_stream_options = true, .answer_after_result = true}},
    {"moonshotai", "moonshot.ai", {.ids = CALL_IDS_KEEP, .thinking_back = true}},
    {"moonshot", "moonshot.cn", {.ids = CALL_IDS_KEEP, .thinking_back = true}},
    {"kimi", "kimi.com", {.ids = CALL_IDS_KEEP, .thinking_back = true}},
    {"zai", "z.ai", {.format = QUIRKS_ENABLE}},
    {"zhipu", "bigmodel.cn", {.format = QUIRKS_ENABLE}},
    {"qwen", "aliyuncs.com", {.format = QUIRKS_ENABLE}},
    {"groq", "groq.com", {.effort = true}},
    {"cerebras", "cerebras.ai", {.effort = true}},
    {"opencode", "opencode.ai", {.effort = true}},
    {"vercel-ai-gateway", "ai-gateway.vercel.sh", {.effort = true, .details = true}},
    {"ollama", "ollama.com", {.effort = true}},
};

static const struct row *find_row(const struct model *m)
{
    const size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n; i++) {
        if (wire_is_host(m->base_url, rows[i].host)) {
            return &rows[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (rows[i].provider && m->provider &&
            strcmp(m->provider, rows[i].provider) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

// What depends on the model, too.
static void apply_model(struct quirks *q, const struct model *m, bool known)
{
    if (!known && strstr(m->id, "gpt-oss")) {
        q->thinking_back = true;
    }
    if (wire_is_host(m->base_url, "x.ai")) {
        q->effort = strstr(m->id, "grok-3-mini") != NULL;
    }
    if (q->format == QUIRKS_OPENROUTER) {
        q->cache_marks = sv_starts(sv_of(m->id), sv_of("anthropic/"));
    }
}

struct flag {
    const char *key;
    size_t offset;
    bool inverted;
};

static const struct flag flags[] = {
    {"supportsStore", offsetof(struct quirks, store), false},
    {"supportsDeveloperRole", offsetof(struct quirks, developer_role), false},
    {"supportsReasoningEffort", offsetof(struct quirks, effort), false},
    {"supportsUsageInStreaming", offsetof(struct quirks, no_stream_options), true},
    {"requiresToolResultName", offsetof(struct quirks, tool_result_name), false},
    {"requiresAssistantAfterToolResult", offsetof(struct quirks, answer_after_result),
     false},
    {"requiresThinkingAsText", offsetof(struct quirks, thinking_as_text), false},
    {"requiresReasoningContentOnAssistantMessages",
     offsetof(struct quirks, thinking_always), false},
    {"supportsStrictMode", offsetof(struct quirks, strict), false},
    {"sendSessionAffinityHeaders", offsetof(struct quirks, session_header), false},
    {"zaiToolStream", offsetof(struct quirks, tool_stream), false},
};

static void apply_formats(struct quirks *q, const struct json *compat)
{
    static const struct {
        const char *name;
        enum quirks_thinking format;
    } formats[] = {
        {"openai", QUIRKS_EFFORT},     {"openrouter", QUIRKS_OPENROUTER},
        {"deepseek", QUIRKS_DEEPSEEK}, {"zai", QUIRKS_ENABLE},
        {"qwen", QUIRKS_ENABLE},       {"qwen-chat-template", QUIRKS_CHAT_TEMPLATE},
    };
    const char *name = json_get_str(compat, "thinkingFormat");
    for (size_t i = 0; name && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            q->format = formats[i].format;
            q->details = q->details || q->format == QUIRKS_OPENROUTER;
        }
    }
    const char *tokens = json_get_str(compat, "maxTokensField");
    if (tokens) {
        q->max_completion_tokens = strcmp(tokens, "max_completion_tokens") == 0;
    }
    const char *marks = json_get_str(compat, "cacheControlFormat");
    if (marks) {
        q->cache_marks = strcmp(marks, "anthropic") == 0;
    }
}

void quirks_of(struct quirks *out, const struct model *m)
{
    const struct row *row = find_row(m);
    *out = row ? row->quirks : (struct quirks){0};
    apply_model(out, m, row != NULL);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool *flag = (bool *)((char *)out + flags[i].offset);
        *flag = json_get_bool(m->compat, flags[i].key, *flag ^ flags[i].inverted) ^
                flags[i].inverted;
    }
    apply_formats(out, m->compat);
    out->thinking_back = out->thinking_back || out->thinking_always;
    out->routing = json_get(m->compat, "openRouterRouting");
    out->gateway = json_get(m->compat, "vercelGatewayRouting");
}
