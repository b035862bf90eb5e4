// OpenAI Chat Completions, and what many other servers make of it: requests. Answers are
// decoded in openai_answer.c, differences of servers are rows of quirks.c.

#include <stdlib.h>
#include <string.h>

#include "llm/openai_answer.h"
#include "llm/quirks.h"
#include "llm/wire_build.h"

struct request {
    const struct wire_input *input;
    struct quirks quirks;
    struct history history;
    struct json_writer out;
};

/* -- thinking -- */

static const char *effort_of(const struct request *r)
{
    const struct model *m = r->input->model;
    enum thinking_level level = r->input->thinking;
    const char *mapped = m->thinking_values[level];
    if (mapped || level == THINKING_OFF) {
        return mapped;
    }
    // Only OpenAI's own models know less than low.
    bool low = level == THINKING_MINIMAL && !r->quirks.developer_role;
    return thinking_level_name(low ? THINKING_LOW : level);
}

static void write_effort(struct request *r)
{
    const char *effort = effort_of(r);
    if (r->quirks.effort && effort) {
        json_write_str(&r->out, "reasoning_effort", effort);
    }
}

static void write_openrouter(struct request *r)
{
    const char *effort = effort_of(r);
    if (!effort && r->input->model->thinking_unsupported[THINKING_OFF]) {
        return;
    }
    json_write_open(&r->out, "reasoning", '{');
    json_write_str(&r->out, "effort", effort ? effort : "none");
    json_write_close(&r->out, '}');
}

static void write_deepseek(struct request *r)
{
    bool on = r->input->thinking != THINKING_OFF;
    json_write_open(&r->out, "thinking", '{');
    json_write_str(&r->out, "type", on ? "enabled" : "disabled");
    json_write_close(&r->out, '}');
    if (on) {
        write_effort(r);
    }
}

static void write_enable(struct request *r)
{
    json_write_bool(&r->out, "enable_thinking", r->input->thinking != THINKING_OFF);
}

// Without preserve_thinking the arguments of earlier calls get lost, too.
static void write_chat_template(struct request *r)
{
    json_write_open(&r->out, "chat_template_kwargs", '{');
    write_enable(r);
    json_write_bool(&r->out, "preserve_thinking", true);
    json_write_close(&r->out, '}');
}

static void write_thinking(struct request *r)
{
    static void (*const write[])(struct request *) = {
        [QUIRKS_EFFORT] = write_effort,
        [QUIRKS_OPENROUTER] = write_openrouter,
        [QUIRKS_DEEPSEEK] = write_deepseek,
        [QUIRKS_ENABLE] = write_enable,
        [QUIRKS_CHAT_TEMPLATE] = write_chat_template,
    };
    if (r->input->model->reasoning && !r->input->tuning.no_effort) {
        write[r->quirks.format](r);
    }
}

/* -- what stands before the messages -- */

static void write_mark(struct json_writer *w)
{
    json_write_open(w, "cache_control", '{');
    json_write_str(w, "type", "ephemeral");
    json_write_close(w, '}');
}

static void write_tool(struct request *r, const struct tool_schema *tool, bool last)
{
    struct json_writer *w = &r->out;
    json_write_open(w, NULL, '{');
    json_write_str(w, "type", "function");
    json_write_open(w, "function", '{');
    json_write_str(w, "name", tool->name);
    json_write_str(w, "description", tool->description);
    if (tool->parameters) {
        json_write_tree(w, "parameters", tool->parameters);
    } else {
        json_write_raw(w, "parameters", sv_of("{\"type\":\"object\",\"properties\":{}}"));
    }
    if (r->quirks.strict) {
        json_write_bool(w, "strict", false);
    }
    json_write_close(w, '}');
    if (last && r->quirks.cache_marks) {
        write_mark(w);
    }
    json_write_close(w, '}');
}

static void write_tools(struct request *r)
{
    const struct llm_request *from = r->input->request;
    size_t gone = r->history.tool_names_len;
    if (from->tools_len + gone == 0) {
        return; // an empty list is refused
    }
    json_write_open(&r->out, "tools", '[');
    for (size_t i = 0; i < from->tools_len; i++) {
        write_tool(r, &from->tools[i], i + 1 == from->tools_len);
    }
    for (size_t i = 0; i < gone; i++) {
        const struct tool_schema tool = {.name = r->history.tool_names[i],
                                         .description = "No longer available."};
        write_tool(r, &tool, i + 1 == gone);
    }
    json_write_close(&r->out, ']');
}

/* -- messages -- */

static void open_message(struct request *r, const char *role)
{
    json_write_open(&r->out, NULL, '{');
    json_write_str(&r->out, "role", role);
}

static void write_text_part(struct request *r, struct sv text, bool mark)
{
    json_write_open(&r->out, NULL, '{');
    json_write_str(&r->out, "type", "text");
    json_write_text(&r->out, "text", text);
    if (mark) {
        write_mark(&r->out);
    }
    json_write_close(&r->out, '}');
}

static void write_system(struct request *r)
{
    const char *prompt = r->input->request->system_prompt;
    if (!prompt || !prompt[0]) {
        return;
    }
    bool developer = r->quirks.developer_role && r->input->model->reasoning &&
                     !r->input->tuning.system_role;
    open_message(r, developer ? "developer" : "system");
    if (r->quirks.cache_marks) {
        json_write_open(&r->out, "content", '[');
        write_text_part(r, sv_of(prompt), true);
        json_write_close(&r->out, ']');
    } else {
        json_write_str(&r->out, "content", prompt);
    }
    json_write_close(&r->out, '}');
}

static bool has_image(const struct history_message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].type == BLOCK_IMAGE) {
            return true;
        }
    }
    return false;
}

static void join_text(struct buf *out, const struct history_message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].type == BLOCK_TEXT) {
            buf_adds(out, out->len > 0 ? "\n" : "");
            buf_addsv(out, m->blocks[i].text);
        }
    }
}

// All text as one string: lists of parts are refused or mirrored by some servers.
static void write_joined(struct request *r, const struct history_message *m,
                         const char *without)
{
    struct buf text = {0};
    join_text(&text, m);
    if (text.len > 0) {
        json_write_text(&r->out, "content", buf_sv(&text));
    } else if (without) {
        json_write_str(&r->out, "content", without);
    } else {
        json_write_raw(&r->out, "content", sv_of("null"));
    }
    r->out.out->failed = r->out.out->failed || !buf_ok(&text);
    buf_finish(&text);
}

static void write_image_part(struct request *r, const struct history_block *b)
{
    struct buf url = {0};
    buf_addf(&url, "data:%s;base64,", b->mime_type);
    buf_addsv(&url, b->text);
    json_write_open(&r->out, NULL, '{');
    json_write_str(&r->out, "type", "image_url");
    json_write_open(&r->out, "image_url", '{');
    json_write_text(&r->out, "url", buf_sv(&url));
    json_write_close(&r->out, '}');
    json_write_close(&r->out, '}');
    r->out.out->failed = r->out.out->failed || !buf_ok(&url);
    buf_finish(&url);
}

static void write_parts(struct request *r, const struct history_message *m, bool mark)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].type == BLOCK_IMAGE) {
            write_image_part(r, &m->blocks[i]);
        } else if (m->role == ROLE_USER) {
            write_text_part(r, m->blocks[i].text, mark && i + 1 == m->len);
        }
    }
}

// The user's message behind the results [from, at), which may be none: it holds their
// images, since results hold text only, and what the user said at `at`, if they did.
static void write_user(struct request *r, size_t from, size_t at)
{
    const struct history *h = &r->history;
    const struct history_message *said =
        at < h->len && h->messages[at].role == ROLE_USER ? &h->messages[at] : NULL;
    bool images = false;
    for (size_t i = from; i < at; i++) {
        images = images || has_image(&h->messages[i]);
    }
    if (!said && !images) {
        return;
    }
    if (from < at && r->quirks.answer_after_result) {
        open_message(r, "assistant");
        json_write_str(&r->out, "content", "I have read the results.");
        json_write_close(&r->out, '}');
    }
    open_message(r, "user");
    if (images || has_image(said) || r->quirks.cache_marks) {
        json_write_open(&r->out, "content", '[');
        if (images) {
            write_text_part(r, sv_of("Images of the results above:"), false);
        }
        for (size_t i = from; i < at; i++) {
            write_parts(r, &h->messages[i], false);
        }
        if (said) {
            write_parts(r, said, r->quirks.cache_marks && at + 1 == h->len);
        }
        json_write_close(&r->out, ']');
    } else {
        write_joined(r, said, "");
    }
    json_write_close(&r->out, '}');
}

static void write_result(struct request *r, const struct history_message *m)
{
    open_message(r, "tool");
    json_write_str(&r->out, "tool_call_id", m->tool_call_id);
    if (r->quirks.tool_result_name) {
        json_write_str(&r->out, "name", m->tool_name);
    }
    write_joined(r, m, "(see attached image)");
    json_write_close(&r->out, '}');
}

/* -- answers -- */

// The field that the thinking came in is its signature.
static const char *thinking_field(const char *signature)
{
    static const char *const fields[] = {"reasoning_content", "reasoning",
                                         "reasoning_text"};
    for (size_t i = 0; signature && i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i], signature) == 0) {
            return fields[i];
        }
    }
    return fields[0];
}

static void write_thinking_back(struct request *r, const struct history_message *m)
{
    struct buf text = {0};
    const char *field = NULL;
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].type == BLOCK_THINKING) {
            field = field ? field : thinking_field(m->blocks[i].signature);
            buf_adds(&text, text.len > 0 ? "\n" : "");
            buf_addsv(&text, m->blocks[i].text);
        }
    }
    if (r->quirks.thinking_always) {
        field = "reasoning_content";
    }
    if (field) {
        json_write_text(&r->out, field, buf_sv(&text));
    }
    r->out.out->failed = r->out.out->failed || !buf_ok(&text);
    buf_finish(&text);
}

// What the server wants back beside a call was kept as JSON in the signature: either a
// member of the call or something for the message's list of such things.
static struct json *signature_of(struct request *r, const struct history_block *b)
{
    struct json *j = NULL;
    if (!b->signature || b->type != BLOCK_TOOL_CALL) {
        return NULL;
    }
    enum pi_status status = json_parse(&j, sv_of(b->signature), NULL, NULL);
    r->out.out->failed = r->out.out->failed || status == PI_NOMEM;
    if (!status && json_type(j) != JSON_OBJECT) {
        json_destroy(j);
        j = NULL;
    }
    return j;
}

static void write_call(struct request *r, const struct history_block *b)
{
    struct json_writer *w = &r->out;
    struct json *signature = signature_of(r, b);
    const struct json *extra = json_get(signature, "extra_content");
    json_write_open(w, NULL, '{');
    json_write_str(w, "id", b->id);
    json_write_str(w, "type", "function");
    json_write_open(w, "function", '{');
    json_write_str(w, "name", b->name);
    json_write_text(w, "arguments", b->text);
    json_write_close(w, '}');
    if (extra) {
        json_write_tree(w, "extra_content", extra);
    }
    json_write_close(w, '}');
    json_destroy(signature);
}

static void write_details(struct request *r, const struct history_message *m)
{
    bool open = false;
    for (size_t i = 0; i < m->len; i++) {
        struct json *detail = signature_of(r, &m->blocks[i]);
        if (json_get_str(detail, "type")) {
            if (!open) {
                json_write_open(&r->out, "reasoning_details", '[');
            }
            open = true;
            json_write_tree(&r->out, NULL, detail);
        }
        json_destroy(detail);
    }
    if (open) {
        json_write_close(&r->out, ']');
    }
}

static bool has_calls(const struct history_message *m)
{
    return m->blocks[m->len - 1].type == BLOCK_TOOL_CALL;
}

static void write_answer(struct request *r, const struct history_message *m)
{
    open_message(r, "assistant");
    write_joined(r, m, r->quirks.answer_after_result ? "" : NULL);
    write_thinking_back(r, m);
    if (has_calls(m)) {
        if (r->quirks.details) {
            write_details(r, m);
        }
        json_write_open(&r->out, "tool_calls", '[');
        for (size_t i = 0; i < m->len; i++) {
            if (m->blocks[i].type == BLOCK_TOOL_CALL) {
                write_call(r, &m->blocks[i]);
            }
        }
        json_write_close(&r->out, ']');
    }
    json_write_close(&r->out, '}');
}

static void write_messages(struct request *r)
{
    const struct history *h = &r->history;
    json_write_open(&r->out, "messages", '[');
    write_system(r);
    for (size_t i = 0; i < h->len;) {
        if (h->messages[i].role == ROLE_ASSISTANT) {
            write_answer(r, &h->messages[i++]);
            continue;
        }
        size_t from = i;
        for (; i < h->len && h->messages[i].role == ROLE_TOOL_RESULT; i++) {
            write_result(r, &h->messages[i]);
        }
        write_user(r, from, i);
        i += i < h->len && h->messages[i].role == ROLE_USER;
    }
    json_write_close(&r->out, ']');
}

/* -- the request -- */

static void write_max_tokens(struct request *r)
{
    bool completion =
        r->quirks.max_completion_tokens != r->input->tuning.other_max_tokens;
    json_write_int(&r->out, completion ? "max_completion_tokens" : "max_tokens",
                   wire_max_tokens(r->input, 0));
}

static void write_body(struct request *r)
{
    struct json_writer *w = &r->out;
    const struct quirks *q = &r->quirks;
    json_write_open(w, NULL, '{');
    json_write_str(w, "model", r->input->model->id);
    json_write_bool(w, "stream", true);
    if (!q->no_stream_options && !r->input->tuning.no_stream_options) {
        json_write_raw(w, "stream_options", sv_of("{\"include_usage\":true}"));
    }
    if (q->store) {
        json_write_bool(w, "store", false);
    }
    write_max_tokens(r);
    write_thinking(r);
    if (q->cache_key && r->input->session_id) {
        json_write_str(w, "prompt_cache_key", r->input->session_id);
    }
    if (q->tool_stream) {
        json_write_bool(w, "tool_stream", true);
    }
    if (q->routing) {
        json_write_tree(w, "provider", q->routing);
    }
    if (q->gateway) {
        json_write_open(w, "providerOptions", '{');
        json_write_tree(w, "gateway", q->gateway);
        json_write_close(w, '}');
    }
    write_tools(r);
    write_messages(r);
    json_write_close(w, '}');
}

static enum pi_status write_headers(struct buf *out, const struct request *r,
                                    struct pi_error *err)
{
    const struct wire_input *input = r->input;
    enum pi_status status = wire_header(out, "content-type", "application/json", err);
    if (!status) {
        status = wire_header(out, "accept", "text/event-stream", err);
    }
    if (!status && input->api_key && input->api_key[0]) {
        status = wire_is_host(input->model->base_url, "azure.com")
                     ? wire_header(out, "api-key", input->api_key, err)
                     : wire_bearer(out, input->api_key, err);
    }
    if (!status && r->quirks.session_header && input->session_id) {
        status = wire_header(out, "x-session-affinity", input->session_id, err);
    }
    return status;
}

static enum history_thinking thinking_rule(const struct request *r)
{
    return r->input->tuning.no_thinking ? HISTORY_THINKING_NONE
           : r->quirks.thinking_as_text ? HISTORY_THINKING_TEXT
           : r->quirks.thinking_back    ? HISTORY_THINKING_KEEP
                                        : HISTORY_THINKING_DROP;
}

static enum pi_status openai_encode(struct wire_request *out,
                                    const struct wire_input *input, struct pi_error *err)
{
    struct request r = {.input = input, .out = {.out = &out->body}};
    *out = (struct wire_request){0};
    quirks_of(&r.quirks, input->model);
    const struct history_target target = {
        .model = input->model,
        .ids = r.quirks.ids,
        .thinking = thinking_rule(&r),
        .no_images = input->tuning.no_images || input->request->no_images,
    };
    enum pi_status status = history_build(&r.history, input->request, &target, err);
    if (!status) {
        status = wire_url(&out->url, input->model->base_url, WIRE_VERSION_ALONE,
                          "/chat/completions", err);
    }
    if (!status) {
        status = write_headers(&out->headers, &r, err);
    }
    if (!status) {
        write_body(&r);
        status = buf_ok(&out->body) ? PI_OK : error_nomem(err);
    }
    history_finish(&r.history);
    if (status) {
        wire_request_finish(out);
    }
    return status;
}

const struct wire wire_openai_chat = {
    .api = "openai-completions",
    .encode = openai_encode,
    .begin = openai_begin,
    .decode = openai_decode,
    .end = openai_end,
    .finish = openai_finish,
};
