#include "llm/models_file.h"

#include <string.h>
#include <strings.h>

#include "base/json_line.h"

enum { PROBLEMS_MAX = 20 };

/* -- what is right -- */

static bool is_text(const struct json *v)
{
    return json_str(v) && *json_str(v);
}

static bool is_url(const struct json *v)
{
    const char *url = json_str(v);
    return url &&
           (strncasecmp(url, "http://", 7) == 0 ||
            strncasecmp(url, "https://", 8) == 0) &&
           strcspn(url, " \t\r\n\"") == strlen(url) && url[strcspn(url, ":") + 3];
}

static bool is_api(const struct json *v)
{
    return json_str(v) && models_file_knows_api(json_str(v));
}

static bool is_bool(const struct json *v)
{
    return json_type(v) == JSON_BOOL;
}

static bool is_object(const struct json *v)
{
    return json_type(v) == JSON_OBJECT;
}

static bool is_array(const struct json *v)
{
    return json_type(v) == JSON_ARRAY;
}

static bool is_count(const struct json *v)
{
    double n = json_num(v, 0);
    return n >= 1 && n <= 1e12;
}

static bool is_strings(const struct json *v)
{
    for (const struct json *m = json_first(v); m; m = json_next(m)) {
        if (!json_str(m)) {
            return false;
        }
    }
    return is_object(v);
}

static bool is_level_map(const struct json *v)
{
    for (const struct json *m = json_first(v); m; m = json_next(m)) {
        enum thinking_level level;
        if (!is_object(v) || !thinking_level_parse(&level, json_key(m)) ||
            (!json_str(m) && json_type(m) != JSON_NULL)) {
            return false;
        }
    }
    return is_object(v);
}

static bool is_input(const struct json *v)
{
    for (const struct json *m = json_first(v); m; m = json_next(m)) {
        const char *kind = json_str(m);
        if (!kind || (strcmp(kind, "text") != 0 && strcmp(kind, "image") != 0)) {
            return false;
        }
    }
    return is_array(v);
}

static bool is_cost(const struct json *v)
{
    for (const struct json *m = json_first(v); m; m = json_next(m)) {
        if (json_num(m, json_type(m) == JSON_NULL ? 0 : -1) < 0) {
            return false;
        }
    }
    return is_object(v);
}

struct field {
    const char *key;
    const char *expected; // for people
    bool (*accepts)(const struct json *value);
};

#define APIS "\"anthropic-messages\" or \"openai-completions\""
#define URL "a URL like \"http://127.0.0.1:8080/v1\""
#define HEADERS "an object of strings {\"Name\": \"value\"}"

static const struct field root_fields[] = {
    {"providers", "an object {\"name\": {...}}", is_object},
};

static const struct field provider_fields[] = {
    {"name", "a string", is_text},
    {"baseUrl", URL, is_url},
    {"api", APIS, is_api},
    {"apiKey", "a string: a key, the name of a variable, or \"!command\"", is_text},
    {"headers", HEADERS, is_strings},
    {"authHeader", "true or false", is_bool},
    {"compat", "an object", is_object},
    {"models", "an array [{\"id\": ...}]", is_array},
    {"modelOverrides", "an object {\"id\": {...}}", is_object},
    {"local", "true or false", is_bool},
};

static const struct field model_fields[] = {
    {"id", "a string", is_text},
    {"name", "a string", is_text},
    {"api", APIS, is_api},
    {"baseUrl", URL, is_url},
    {"reasoning", "true or false", is_bool},
    {"thinkingLevelMap",
     "an object with off, minimal, low, medium, high, xhigh, each a string or null",
     is_level_map},
    {"input", "[\"text\"] or [\"text\", \"image\"]", is_input},
    {"cost", "an object of numbers: input, output, cacheRead, cacheWrite", is_cost},
    {"contextWindow", "a number of tokens", is_count},
    {"maxTokens", "a number of tokens", is_count},
    {"headers", HEADERS, is_strings},
    {"compat", "an object", is_object},
};

#define LEN(table) (sizeof(table) / sizeof((table)[0]))

bool models_file_knows_api(const char *api)
{
    static const char *const known[] = {
        "anthropic-messages",      "openai-completions",    "openai-responses",
        "azure-openai-responses",  "google-generative-ai",  "google-vertex",
        "bedrock-converse-stream", "mistral-conversations", "openai-codex-responses",
    };
    for (size_t i = 0; i < LEN(known); i++) {
        if (strcmp(known[i], api) == 0) {
            return true;
        }
    }
    return false;
}

/* -- reading -- */

// A member that can be used, else NULL.
static const struct json *pick(const struct json *object, const char *key,
                               bool (*accepts)(const struct json *value))
{
    const struct json *value = json_get(object, key);
    return value && accepts(value) ? value : NULL;
}

static const char *pick_text(const struct json *object, const char *key,
                             bool (*accepts)(const struct json *value))
{
    return json_str(pick(object, key, accepts));
}

void provider_spec_read(struct provider_spec *out, const struct json *object)
{
    const struct json *bearer = pick(object, "authHeader", is_bool);
    *out = (struct provider_spec){
        .label = pick_text(object, "name", is_text),
        .base_url = pick_text(object, "baseUrl", is_url),
        .api = pick_text(object, "api", is_api),
        .key_source = pick_text(object, "apiKey", is_text),
        .headers = pick(object, "headers", is_strings),
        .compat = pick(object, "compat", is_object),
        .models = pick(object, "models", is_array),
        .overrides = pick(object, "modelOverrides", is_object),
        .auth_header = bearer ? json_get_bool(object, "authHeader", false) : -1,
        .local = json_get_bool(object, "local", false),
    };
}

const char *model_spec_id(const struct json *object)
{
    return is_object(object) ? pick_text(object, "id", is_text) : NULL;
}

static void read_text(const char **place, const char *text)
{
    if (text) {
        *place = text;
    }
}

static void read_levels(struct model *m, const struct json *map)
{
    for (const struct json *v = json_first(map); v; v = json_next(v)) {
        enum thinking_level level;
        if (thinking_level_parse(&level, json_key(v))) {
            m->thinking_values[level] = json_str(v);
            m->thinking_unsupported[level] = !json_str(v);
        }
    }
}

static void read_input(struct model *m, const struct json *list)
{
    if (list) {
        m->input_image = false;
    }
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        m->input_image = m->input_image || strcmp(json_str(v), "image") == 0;
    }
}

static void read_cost(struct model *m, const struct json *cost)
{
    m->cost.input = json_get_num(cost, "input", m->cost.input);
    m->cost.output = json_get_num(cost, "output", m->cost.output);
    m->cost.cache_read = json_get_num(cost, "cacheRead", m->cost.cache_read);
    m->cost.cache_write = json_get_num(cost, "cacheWrite", m->cost.cache_write);
}

void model_spec_read(struct model *m, const struct json *object)
{
    read_text(&m->id, pick_text(object, "id", is_text));
    read_text(&m->name, pick_text(object, "name", is_text));
    read_text(&m->api, pick_text(object, "api", is_api));
    read_text(&m->base_url, pick_text(object, "baseUrl", is_url));
    m->reasoning = json_get_bool(object, "reasoning", m->reasoning);
    read_levels(m, pick(object, "thinkingLevelMap", is_level_map));
    read_input(m, pick(object, "input", is_input));
    read_cost(m, pick(object, "cost", is_cost));
    m->context_window = (int64_t)json_num(pick(object, "contextWindow", is_count),
                                          (double)m->context_window);
    m->max_tokens =
        (int64_t)json_num(pick(object, "maxTokens", is_count), (double)m->max_tokens);
    const struct json *headers = pick(object, "headers", is_strings);
    const struct json *compat = pick(object, "compat", is_object);
    m->headers = headers ? headers : m->headers;
    m->compat = compat ? compat : m->compat;
}

/* -- what is wrong -- */

struct check {
    struct buf *problems;
    const char *path;
    struct sv text;
    const struct json *root;
    const struct json *builtin;   // providers that need not say where they are; or NULL
    const char *provider, *model; // where we are; NULL = not inside one
    size_t found;
};

static void report(struct check *c, const struct json *at, const char *what,
                   const char *expected)
{
    if (c->found++ >= PROBLEMS_MAX) {
        return;
    }
    buf_addf(c->problems, "%s: line %zu: ", c->path, json_line(c->text, c->root, at));
    if (c->provider) {
        buf_addf(c->problems, "provider \"%.100s\": ", c->provider);
    }
    if (c->model) {
        buf_addf(c->problems, "model \"%.100s\": ", c->model);
    }
    buf_addf(c->problems, "%.100s %s\n", what, expected);
}

static void report_value(struct check *c, const struct json *value, const char *expected)
{
    struct buf must = {0};
    buf_addf(&must, "must be %s; it is ignored", expected);
    report(c, value, json_key(value), buf_cstr(&must));
    buf_finish(&must);
}

// Whether b can be had from a by one change, insertion, removal or swap of neighbours,
// small and capital letters being the same.
static bool is_near(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), i = 0, tail = 0;
    while (i < n && i < m && strncasecmp(a + i, b + i, 1) == 0) {
        i++;
    }
    while (tail < n - i && tail < m - i &&
           strncasecmp(a + n - 1 - tail, b + m - 1 - tail, 1) == 0) {
        tail++;
    }
    size_t left_a = n - i - tail, left_b = m - i - tail;
    bool swapped = left_a == 2 && left_b == 2 && strncasecmp(a + i, b + i + 1, 1) == 0 &&
                   strncasecmp(a + i + 1, b + i, 1) == 0;
    return (left_a <= 1 && left_b <= 1) || swapped;
}

// Names that are not known may be those of another program; a typing error is none.
static void check_name(struct check *c, const struct json *member,
                       const struct field *fields, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_near(json_key(member), fields[i].key)) {
            struct buf hint = {0};
            buf_addf(&hint, "is not known; is \"%s\" meant?", fields[i].key);
            report(c, member, json_key(member), buf_cstr(&hint));
            buf_finish(&hint);
            return;
        }
    }
}

static void check_members(struct check *c, const struct json *object,
                          const struct field *fields, size_t len)
{
    for (const struct json *m = json_first(object); m; m = json_next(m)) {
        size_t i = 0;
        while (i < len && strcmp(fields[i].key, json_key(m)) != 0) {
            i++;
        }
        if (i == len) {
            check_name(c, m, fields, len);
        } else if (json_type(m) != JSON_NULL && !fields[i].accepts(m)) {
            report_value(c, m, fields[i].expected);
        }
    }
}

static void check_model(struct check *c, const struct json *model)
{
    c->model = model_spec_id(model);
    if (!is_object(model)) {
        report(c, model, "each of \"models\"",
               "must be an object {\"id\": ...}; it is left out");
    } else if (!c->model) {
        report(c, model, "\"id\"",
               "is missing: the server's name of the model; it is left out");
    }
    if (is_object(model)) {
        check_members(c, model, model_fields, LEN(model_fields));
    }
    c->model = NULL;
}

// A provider that is not built in must say where it is and what it speaks, for each
// model.
static void check_complete(struct check *c, const struct json *provider,
                           const struct provider_spec *spec)
{
    bool url = spec->base_url, api = spec->api;
    const struct json *m = json_first(spec->models);
    for (; m && (!url || !api); m = json_next(m)) {
        url = url || pick(m, "baseUrl", is_url);
        api = api || pick(m, "api", is_api);
    }
    if (json_get(c->builtin, c->provider)) {
        return;
    }
    if (!url) {
        report(c, provider, "\"baseUrl\"",
               "is missing: " URL "; models without one are left out");
    }
    if (!api && spec->models) {
        report(c, provider, "\"api\"",
               "is missing: " APIS "; \"openai-completions\" is assumed");
    }
}

static void check_provider(struct check *c, const struct json *provider)
{
    struct provider_spec spec;
    c->provider = json_key(provider);
    if (!is_object(provider)) {
        report(c, provider, "it", "must be an object {...}; it is left out");
        return;
    }
    check_members(c, provider, provider_fields, LEN(provider_fields));
    provider_spec_read(&spec, provider);
    check_complete(c, provider, &spec);
    for (const struct json *m = json_first(spec.models); m; m = json_next(m)) {
        check_model(c, m);
    }
    for (const struct json *m = json_first(spec.overrides); m; m = json_next(m)) {
        c->model = json_key(m);
        if (is_object(m)) {
            check_members(c, m, model_fields, LEN(model_fields));
        } else {
            report(c, m, "its override", "must be an object {...}; it is left out");
        }
        c->model = NULL;
    }
}

void models_file_check(struct buf *problems, const struct models_text *file,
                       const struct json *root, const struct json *builtin)
{
    struct check c = {.problems = problems,
                      .path = file->path,
                      .text = file->text,
                      .root = root,
                      .builtin = builtin};
    if (!is_object(root)) {
        report(&c, root, "the file", "must be an object {\"providers\": {...}}");
        return;
    }
    check_members(&c, root, root_fields, LEN(root_fields));
    const struct json *providers = pick(root, "providers", is_object);
    for (const struct json *p = json_first(providers); p; p = json_next(p)) {
        check_provider(&c, p);
    }
    if (c.found > PROBLEMS_MAX) {
        buf_addf(problems, "%s: and %zu more mistakes\n", c.path, c.found - PROBLEMS_MAX);
    }
}
