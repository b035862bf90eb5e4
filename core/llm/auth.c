#include "llm/auth.h"

// Keys of model providers only: AWS_* and HF_TOKEN are the user's for other programs too.
static const char *const key_names[] = {
    "AI_GATEWAY_API_KEY",   "ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN",
    "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY",  "CLOUDFLARE_API_KEY",
    "COPILOT_GITHUB_TOKEN", "DEEPSEEK_API_KEY",  "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",       "GOOGLE_API_KEY",    "GOOGLE_CLOUD_API_KEY",
    "GROQ_API_KEY",         "KIMI_API_KEY",      "MINIMAX_API_KEY",
    "MINIMAX_CN_API_KEY",   "MISTRAL_API_KEY",   "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",       "OPENCODE_API_KEY",  "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",     "XAI_API_KEY",       "XIAOMI_API_KEY",
    "ZAI_API_KEY",
};

enum { KEY_NAMES = sizeof key_names / sizeof *key_names };

void auth_remove_keys(struct env *e)
{
    for (size_t i = 0; i < KEY_NAMES; i++) {
        env_unset(e, key_names[i]);
    }
}

void auth_redact_keys(const struct env *e, struct log *log)
{
    for (size_t i = 0; i < KEY_NAMES; i++) {
        const char *value = env_get(e, key_names[i]);
        if (value) {
            log_redact(log, value);
        }
    }
}
