// Anthropic Messages: requests. Answers are decoded in anthropic_answer.c.

#include <stdlib.h>
#include <string.h>

#include "llm/anthropic_answer.h"
#include "llm/wire_build.h"

enum { LEAST_BUDGET = 1024, MARKED_USER_MESSAGES = 2 };

struct request {
    const struct wire_input *input;
    struct history history;
    struct json_writer out;
};

/* -- thinking -- */

enum thinking_form {
    FORM_UNSAID, // the server decides
    FORM_DISABLED,
    FORM_BUDGET,
    FORM_ADAPTIVE,
};

struct thinking {
    enum thinking_form form;
    int64_t budget;
    const char *effort;
};

struct version {
    int major, minor;
};

// The two numbers of "claude-NAME-MAJOR-MINOR", 0.0 of other ids.
static struct version version_of(const char *id)
{
    static const char *const families[] = {"opus-", "sonnet-", "haiku-"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const char *at = strstr(id, families[i]);
        if (!at) {
            continue;
        }
        char *end;
        long minor = 0, major = strtol(at + strlen(families[i]), &end, 10);
        if (*end == '-' || *end == '.') {
            minor = strtol(end + 1, NULL, 10);
        }
        // A date may stand in the place of the minor number.
        return (struct version){.major = major > 0 && major < 100 ? (int)major : 0,
                                .minor = minor > 0 && minor < 100 ? (int)minor : 0};
    }
    return (struct version){0};
}

static bool is_adaptive(const struct model *m)
{
    struct version v = version_of(m->id);
    bool by_id = v.major > 4 || (v.major == 4 && v.minor >= 6);
    return json_get_bool(m->compat, "adaptiveThinking", by_id);
}

static bool can_disable(const struct model *m)
{
    return !m->thinking_unsupported[THINKING_OFF] && version_of(m->id).major < 5;
}

static const char *effort_of(const struct model *m, enum thinking_level level)
{
    static const char *const efforts[THINKING_LEVELS] = {[THINKING_MINIMAL] = "low",
                                                         [THINKING_LOW] = "low",
                                                         [THINKING_MEDIUM] = "medium",
                                                         [THINKING_HIGH] = "high",
                                                         [THINKING_XHIGH] = "high"};
    const char *mapped = m->thinking_values[level];
    return mapped ? mapped : efforts[level];
}

// Whether message `at` begins a turn; what the user says behind results does not.
static bool begins_turn(const struct history *h, size_t at)
{
    return h->messages[at].role == ROLE_USER &&
           (at == 0 || h->messages[at - 1].role != ROLE_TOOL_RESULT);
}

// With a budget, the turn that is under way must have begun with thinking. It has not
// when another model began it.
static bool turn_lacks_thinking(const struct history *h)
{
    size_t first = h->len;
    while (first > 0 && !begins_turn(h, first - 1)) {
        first--;
    }
    return first < h->len && h->messages[first].blocks[0].type != BLOCK_THINKING;
}

static struct thinking plan_budget(const struct request *r)
{
    static const int64_t budgets[THINKING_LEVELS] = {
        [THINKING_MINIMAL] = 1024, [THINKING_LOW] = 2048,    [THINKING_MEDIUM] = 8192,
        [THINKING_HIGH] = 16384,   [THINKING_XHIGH] = 16384,
    };
    enum thinking_level level = r->input->thinking;
    const int64_t *wanted = r->input->request->thinking_budgets;
    int64_t budget = wanted && wanted[level] > 0 ? wanted[level] : budgets[level];
    int64_t most = wire_max_tokens(r->input, budget) - LEAST_BUDGET;
    budget = budget < most ? budget : most;
    if (budget < LEAST_BUDGET || turn_lacks_thinking(&r->history)) {
        return (struct thinking){.form = FORM_DISABLED};
    }
    return (struct thinking){.form = FORM_BUDGET, .budget = budget};
}

static struct thinking plan_thinking(const struct request *r)
{
    const struct model *m = r->input->model;
    const struct wire_tuning *tuning = &r->input->tuning;
    if (!m->reasoning || tuning->no_effort) {
        return (struct thinking){.form = FORM_UNSAID};
    }
    if (r->input->thinking == THINKING_OFF || tuning->no_thinking) {
        return (struct thinking){.form = can_disable(m) ? FORM_DISABLED : FORM_UNSAID};
    }
    if (is_adaptive(m)) {
        return (struct thinking){.form = FORM_ADAPTIVE,
                                 .effort = effort_of(m, r->input->thinking)};
    }
    return plan_budget(r);
}

static void write_thinking(struct json_writer *w, const struct thinking *t)
{
    if (t->form == FORM_UNSAID) {
        return;
    }
    json_write_open(w, "thinking", '{');
    if (t->form == FORM_BUDGET) {
        json_write_str(w, "type", "enabled");
        json_write_int(w, "budget_tokens", t->budget);
    } else if (t->form == FORM_ADAPTIVE) {
        json_write_str(w, "type", "adaptive");
        json_write_str(w, "display", "summarized");
    } else {
        json_write_str(w, "type", "disabled");
    }
    json_write_close(w, '}');
    if (t->effort) {
        json_write_open(w, "output_config", '{');
        json_write_str(w, "effort", t->effort);
        json_write_close(w, '}');
    }
}

/* -- what stands before the messages -- */

// The server keeps what stands before a mark. It takes four marks at most: ours are on
// the tools, the system prompt and two messages of the user.
static void write_mark(struct json_writer *w)
{
    json_write_open(w, "cache_control", '{');
    json_write_str(w, "type", "ephemeral");
    json_write_close(w, '}');
}

static void write_system(struct request *r)
{
    const char *prompt = r->input->request->system_prompt;
    if (!prompt || !prompt[0]) {
        return;
    }
    json_write_open(&r->out, "system", '[');
    json_write_open(&r->out, NULL, '{');
    json_write_str(&r->out, "type", "text");
    json_write_str(&r->out, "text", prompt);
    write_mark(&r->out);
    json_write_close(&r->out, '}');
    json_write_close(&r->out, ']');
}

static void write_tool(struct json_writer *w, const struct tool_schema *tool, bool last)
{
    json_write_open(w, NULL, '{');
    json_write_str(w, "name", tool->name);
    json_write_str(w, "description", tool->description);
    if (tool->parameters) {
        json_write_tree(w, "input_schema", tool->parameters);
    } else {
        json_write_raw(w, "input_schema",
                       sv_of("{\"type\":\"object\",\"properties\":{}}"));
    }
    if (last) {
        write_mark(w);
    }
    json_write_close(w, '}');
}

static void write_tools(struct request *r)
{
    const struct llm_request *from = r->input->request;
    size_t gone = r->history.tool_names_len;
    if (from->tools_len + gone == 0) {
        return;
    }
    json_write_open(&r->out, "tools", '[');
    for (size_t i = 0; i < from->tools_len; i++) {
        write_tool(&r->out, &from->tools[i], i + 1 == from->tools_len);
    }
    for (size_t i = 0; i < gone; i++) {
        const struct tool_schema tool = {.name = r->history.tool_names[i],
                                         .description = "No longer available."};
        write_tool(&r->out, &tool, i + 1 == gone);
    }
    json_write_close(&r->out, ']');
}

/* -- messages -- */

static void write_text(struct json_writer *w, const struct history_block *b)
{
    json_write_str(w, "type", "text");
    json_write_text(w, "text", b->text);
}

static void write_thought(struct json_writer *w, const struct history_block *b)
{
    json_write_str(w, "type", b->redacted ? "redacted_thinking" : "thinking");
    if (!b->redacted) {
        json_write_text(w, "thinking", b->text);
    }
    json_write_str(w, b->redacted ? "data" : "signature", b->signature);
}

static void write_image(struct json_writer *w, const struct history_block *b)
{
    json_write_str(w, "type", "image");
    json_write_open(w, "source", '{');
    json_write_str(w, "type", "base64");
    json_write_str(w, "media_type", b->mime_type);
    json_write_text(w, "data", b->text);
    json_write_close(w, '}');
}

static void write_call(struct json_writer *w, const struct history_block *b)
{
    json_write_str(w, "type", "tool_use");
    json_write_str(w, "id", b->id);
    json_write_str(w, "name", b->name);
    json_write_raw(w, "input", b->text);
}

static void write_blocks(struct json_writer *w, const struct history_message *m,
                         bool mark_last)
{
    static void (*const write[])(struct json_writer *, const struct history_block *) = {
        [BLOCK_TEXT] = write_text,
        [BLOCK_THINKING] = write_thought,
        [BLOCK_IMAGE] = write_image,
        [BLOCK_TOOL_CALL] = write_call,
    };
    for (size_t i = 0; i < m->len; i++) {
        json_write_open(w, NULL, '{');
        write[m->blocks[i].type](w, &m->blocks[i]);
        if (mark_last && i + 1 == m->len) {
            write_mark(w);
        }
        json_write_close(w, '}');
    }
}

static void write_result(struct json_writer *w, const struct history_message *m,
                         bool mark)
{
    json_write_open(w, NULL, '{');
    json_write_str(w, "type", "tool_result");
    json_write_str(w, "tool_use_id", m->tool_call_id);
    json_write_open(w, "content", '[');
    write_blocks(w, m, false);
    json_write_close(w, ']');
    if (m->is_error) {
        json_write_bool(w, "is_error", true);
    }
    if (mark) {
        write_mark(w);
    }
    json_write_close(w, '}');
}

static bool is_answer(const struct history_message *m)
{
    return m->role == ROLE_ASSISTANT;
}

// The end of the message that begins at `at`: results, and what the user said after them,
// are one message of the user.
static size_t message_end(const struct history *h, size_t at)
{
    size_t end = at + 1;
    while (!is_answer(&h->messages[at]) && end < h->len &&
           !is_answer(&h->messages[end])) {
        end++;
    }
    return end;
}

static size_t count_user_messages(const struct history *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->len; i = message_end(h, i)) {
        n += !is_answer(&h->messages[i]);
    }
    return n;
}

static void write_message(struct request *r, size_t from, size_t end, bool mark)
{
    const struct history_message *m = &r->history.messages[from];
    json_write_open(&r->out, NULL, '{');
    json_write_str(&r->out, "role", is_answer(m) ? "assistant" : "user");
    json_write_open(&r->out, "content", '[');
    for (size_t i = from; i < end; i++, m++) {
        bool mark_last = mark && i + 1 == end;
        if (m->role == ROLE_TOOL_RESULT) {
            write_result(&r->out, m, mark_last);
        } else {
            write_blocks(&r->out, m, mark_last);
        }
    }
    json_write_close(&r->out, ']');
    json_write_close(&r->out, '}');
}

static void write_messages(struct request *r)
{
    const struct history *h = &r->history;
    size_t left = count_user_messages(h);
    json_write_open(&r->out, "messages", '[');
    for (size_t i = 0, end; i < h->len; i = end) {
        end = message_end(h, i);
        bool mark = !is_answer(&h->messages[i]) && left-- <= MARKED_USER_MESSAGES;
        write_message(r, i, end, mark);
    }
    json_write_close(&r->out, ']');
}

/* -- the request -- */

// What stays the same from request to request comes first.
static void write_body(struct request *r, const struct thinking *thinking)
{
    struct json_writer *w = &r->out;
    json_write_open(w, NULL, '{');
    json_write_str(w, "model", r->input->model->id);
    json_write_int(w, "max_tokens", wire_max_tokens(r->input, thinking->budget));
    json_write_bool(w, "stream", true);
    write_thinking(w, thinking);
    write_tools(r);
    write_system(r);
    write_messages(r);
    json_write_close(w, '}');
}

static bool is_login_token(const char *key)
{
    return key && sv_starts(sv_of(key), sv_of("sk-ant-oat"));
}

static enum pi_status write_key(struct buf *headers, const struct wire_input *input,
                                struct pi_error *err)
{
    const char *key = input->api_key;
    enum pi_status status = PI_OK;
    if (!key || !key[0]) {
        return PI_OK;
    }
    if (!is_login_token(key)) {
        status = wire_header(headers, "x-api-key", key, err);
    }
    if (!status && (is_login_token(key) || input->model->auth_header)) {
        status = wire_bearer(headers, key, err);
    }
    return status;
}

static enum pi_status write_betas(struct buf *headers, const struct wire_input *input,
                                  const struct thinking *thinking, struct pi_error *err)
{
    bool login = is_login_token(input->api_key);
    bool interleaved = thinking->form == FORM_BUDGET &&
                       wire_is_host(input->model->base_url, "api.anthropic.com");
    if (!login && !interleaved) {
        return PI_OK;
    }
    return wire_header(headers, "anthropic-beta",
                       !interleaved ? "oauth-2025-04-20"
                       : !login     ? "interleaved-thinking-2025-05-14"
                                    : "oauth-2025-04-20,interleaved-thinking-2025-05-14",
                       err);
}

static enum pi_status write_headers(struct buf *out, const struct wire_input *input,
                                    const struct thinking *thinking, struct pi_error *err)
{
    enum pi_status status = wire_header(out, "content-type", "application/json", err);
    if (!status) {
        status = wire_header(out, "accept", "text/event-stream", err);
    }
    if (!status) {
        status = wire_header(out, "anthropic-version", "2023-06-01", err);
    }
    if (!status) {
        status = write_key(out, input, err);
    }
    return status ? status : write_betas(out, input, thinking, err);
}

// Servers that put this format before other models may not sign thinking, and miss it all
// the same.
static enum history_thinking thinking_rule(const struct wire_input *input)
{
    if (input->tuning.no_thinking) {
        return HISTORY_THINKING_NONE;
    }
    return wire_is_host(input->model->base_url, "deepseek.com") ? HISTORY_THINKING_KEEP
                                                                : HISTORY_THINKING_SIGNED;
}

static enum pi_status anthropic_encode(struct wire_request *out,
                                       const struct wire_input *input,
                                       struct pi_error *err)
{
    struct request r = {.input = input, .out = {.out = &out->body}};
    const struct history_target target = {
        .model = input->model,
        .ids = CALL_IDS_ANTHROPIC,
        .thinking = thinking_rule(input),
        .no_images = input->tuning.no_images || input->request->no_images,
    };
    *out = (struct wire_request){0};
    enum pi_status status = history_build(&r.history, input->request, &target, err);
    if (status) {
        return status;
    }
    const struct thinking thinking = plan_thinking(&r);
    status = wire_url(&out->url, input->model->base_url, WIRE_VERSION_ALWAYS, "/messages",
                      err);
    if (!status) {
        status = write_headers(&out->headers, input, &thinking, err);
    }
    if (!status) {
        write_body(&r, &thinking);
        status = buf_ok(&out->body) ? PI_OK : error_nomem(err);
    }
    history_finish(&r.history);
    if (status) {
        wire_request_finish(out);
    }
    return status;
}

const struct wire wire_anthropic = {
    .api = "anthropic-messages",
    .encode = anthropic_encode,
    .begin = anthropic_begin,
    .decode = anthropic_decode,
    .end = anthropic_end,
    .finish = anthropic_finish,
};
