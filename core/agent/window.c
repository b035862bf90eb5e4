#include "agent/window.h"

#include <string.h>

#include "base/buf.h"

enum { BYTES_PER_TOKEN = 4, IMAGE_TOKENS = 1000 };

static int64_t tokens(size_t bytes)
{
    return (int64_t)(bytes / BYTES_PER_TOKEN);
}

static int64_t content_tokens(const struct content *content)
{
    int64_t sum = 0;
    for (size_t i = 0; i < content->len; i++) {
        const struct block *b = &content->blocks[i];
        // Thinking is not sent to every model.
        if (b->type == BLOCK_IMAGE) {
            sum += IMAGE_TOKENS;
        } else if (b->type != BLOCK_THINKING) {
            sum += tokens(b->text.len);
        }
    }
    return sum;
}

static int64_t tool_tokens(const struct tool_schema *tool)
{
    struct buf text = {0};
    json_write(&text, tool->parameters);
    int64_t sum = tokens(text.len + strlen(tool->name) + strlen(tool->description));
    buf_finish(&text);
    return sum;
}

struct window_estimate window_estimate(const struct llm_request *request)
{
    struct window_estimate e = {0};
    e.system_prompt = tokens(request->system_prompt ? strlen(request->system_prompt) : 0);
    for (size_t i = 0; i < request->tools_len; i++) {
        e.tools += tool_tokens(&request->tools[i]);
    }
    for (size_t i = 0; i < request->messages_len; i++) {
        e.messages += content_tokens(&request->messages[i]->content);
    }
    e.total = e.system_prompt + e.tools + e.messages;
    return e;
}

enum pi_status window_check(const struct model *model, const struct llm_request *request,
                            struct pi_error *err)
{
    if (model->context_window <= 0) {
        return PI_OK;
    }
    struct window_estimate e = window_estimate(request);
    if (e.total <= model->context_window) {
        return PI_OK;
    }
    return error_set(
        err, PI_LIMIT,
        "The request does not fit into the context window of %.60s: it takes "
        "at least %lld tokens (messages %lld, tools %lld, system prompt "
        "%lld), the window holds %lld. Nothing was sent. Start a new "
        "conversation, give fewer or smaller files, or choose a model with a "
        "larger window.",
        model->id, (long long)e.total, (long long)e.messages, (long long)e.tools,
        (long long)e.system_prompt, (long long)model->context_window);
}
