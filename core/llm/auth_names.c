#include "llm/auth_names.h"

#include <string.h>

// Keys of model providers only: AWS_* and HF_TOKEN are the user's for other programs too.
// Those without a provider are not used here, but kept from commands all the same.
static const struct {
    const char *provider;
    const char *variable;
} table[] = {
    {"anthropic", "ANTHROPIC_API_KEY"},
    {NULL, "ANTHROPIC_AUTH_TOKEN"},
    {NULL, "ANTHROPIC_OAUTH_TOKEN"},
    {"openai", "OPENAI_API_KEY"},
    {"openrouter", "OPENROUTER_API_KEY"},
    {"xai", "XAI_API_KEY"},
    {"deepseek", "DEEPSEEK_API_KEY"},
    {"moonshotai", "MOONSHOT_API_KEY"},
    {"zai", "ZAI_API_KEY"},
    {"mistral", "MISTRAL_API_KEY"},
    {"groq", "GROQ_API_KEY"},
    {"cerebras", "CEREBRAS_API_KEY"},
    {"google", "GEMINI_API_KEY"},
    {"google", "GOOGLE_API_KEY"},
    {"azure-openai-responses", "AZURE_OPENAI_API_KEY"},
    {"vercel-ai-gateway", "AI_GATEWAY_API_KEY"},
    {"minimax", "MINIMAX_API_KEY"},
    {"minimax-cn", "MINIMAX_CN_API_KEY"},
    {"fireworks", "FIREWORKS_API_KEY"},
    {"opencode", "OPENCODE_API_KEY"},
    {"kimi-coding", "KIMI_API_KEY"},
    {"cloudflare-workers-ai", "CLOUDFLARE_API_KEY"},
    {"xiaomi", "XIAOMI_API_KEY"},
    {NULL, "COPILOT_GITHUB_TOKEN"},
    {NULL, "GOOGLE_CLOUD_API_KEY"},
    {NULL, "TOGETHER_API_KEY"},
};

enum { TABLE_LEN = sizeof table / sizeof *table, NAME_MAX_BYTES = 128 };

const char *auth_variable(const char *provider, size_t n)
{
    for (size_t i = 0; i < TABLE_LEN; i++) {
        if (table[i].provider && strcmp(table[i].provider, provider) == 0 && n-- == 0) {
            return table[i].variable;
        }
    }
    return NULL;
}

void auth_visit_keys(const struct env *e, auth_see_fn *see, void *data)
{
    for (size_t i = 0; i < TABLE_LEN; i++) {
        const char *value = env_get(e, table[i].variable);
        if (value) {
            see(data, table[i].variable, value);
        }
    }
}

/* -- names in files -- */

// The string that begins at *i, without its quotes; *i moves behind it.
static struct sv take_string(struct sv text, size_t *i)
{
    size_t start = ++*i;
    while (*i < text.n && text.p[*i] != '"') {
        *i += text.p[*i] == '\\' ? 2 : 1;
    }
    size_t end = *i < text.n ? *i : text.n;
    *i = end + 1;
    return sv_sub(text, start, end - start);
}

static bool is_key_name(struct sv name)
{
    return sv_eqs(name, "apiKey") || sv_eqs(name, "key");
}

struct skim {
    struct sv name;   // of the member we are in
    size_t depth;     // of brackets
    size_t headers;   // depth of the object "headers" we are in; 0 = none
    bool after_colon; // a value comes
};

// True: word is a value that stands for a secret.
static bool skim_string(struct skim *s, struct sv word)
{
    bool secret = s->after_colon && (is_key_name(s->name) || s->headers > 0);
    if (!s->after_colon) {
        s->name = word;
    }
    s->after_colon = false;
    return secret;
}

static void skim_bracket(struct skim *s, char c)
{
    if (c == '{' || c == '[') {
        s->depth++;
        if (s->after_colon && s->headers == 0 && sv_eqs(s->name, "headers")) {
            s->headers = s->depth;
        }
    } else if (s->depth > 0) {
        if (s->depth == s->headers) {
            s->headers = 0;
        }
        s->depth--;
    }
    s->after_colon = false;
}

static void see_word(const struct env *e, struct sv word, auth_see_fn *see, void *data)
{
    char name[NAME_MAX_BYTES];
    if (word.n == 0 || word.n >= sizeof name || memchr(word.p, '=', word.n)) {
        return;
    }
    memcpy(name, word.p, word.n);
    name[word.n] = '\0';
    const char *value = env_get(e, name);
    if (value) {
        see(data, name, value);
    }
}

void auth_visit_named(const struct env *e, struct sv text, auth_see_fn *see, void *data)
{
    struct skim s = {0};
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i];
        if (c == '"') {
            struct sv word = take_string(text, &i);
            if (skim_string(&s, word)) {
                see_word(e, word, see, data);
            }
            continue;
        }
        if (c == '/' && i + 1 < text.n && text.p[i + 1] == '/') {
            const char *lf = memchr(text.p + i, '\n', text.n - i);
            i = lf ? (size_t)(lf - text.p) : text.n;
            continue;
        }
        if (c && strchr("{}[]", c)) {
            skim_bracket(&s, c);
        } else if (c == ':') {
            s.after_colon = true;
        } else if (c == ',') {
            s.after_colon = false;
        }
        i++;
    }
}
