#pragma once

#include "llm/call_ids.h"
#include "llm/model.h"

/**
 * In what a server of Chat Completions differs from the plain form. A zeroed struct is
 * the plain form, which every server takes.
 */

/** How thinking is asked for. */
enum quirks_thinking {
    QUIRKS_EFFORT,        // "reasoning_effort"
    QUIRKS_OPENROUTER,    // "reasoning": {"effort"}
    QUIRKS_DEEPSEEK,      // "thinking": {"type"} and the effort
    QUIRKS_ENABLE,        // "enable_thinking"
    QUIRKS_CHAT_TEMPLATE, // "chat_template_kwargs"
};

struct quirks {
    bool store;                 // knows "store", which is then false
    bool developer_role;        // for the system prompt of models that think
    bool effort;                // knows "reasoning_effort"
    bool no_stream_options;     // and then tells no usage
    bool max_completion_tokens; // instead of max_tokens
    bool tool_result_name;      // wants the name of the tool beside its result
    bool answer_after_result;   // refuses the user after a result
    bool thinking_as_text;      // of the model itself
    bool thinking_back;         // wants it back in the field that it came in
    bool thinking_always;       // and on every answer, if only ""
    bool details;               // wants "reasoning_details" back
    bool strict;                // knows "strict" of tools, which is then false
    bool cache_marks;           // as Anthropic's
    bool cache_key;             // knows "prompt_cache_key"
    bool session_header;        // wants to see which requests belong together
    bool tool_stream;           // must be asked to stream arguments
    enum quirks_thinking format;
    enum call_id_rule ids;
    const struct json *routing; // for OpenRouter, or NULL
    const struct json *gateway; // for Vercel's gateway, or NULL
};

/** By provider and host of the model; members of its "compat" override one by one. */
void quirks_of(struct quirks *out, const struct model *model);
