#include "llm/openai_answer.h"

#include <stdlib.h>
#include <string.h>

#include "llm/error_body.h"
#include "llm/openai_calls.h"
#include "llm/think_tags.h"
#include "llm/wire_answer.h"

struct openai_answer {
    struct wire_answer answer; // first
    struct model_cost cost;
    struct openai_calls calls;
    struct think_tags tags;
    struct buf thinking, text; // of the event under way, parted by the tags
    bool open;                 // a block of text or thinking is
    size_t open_index;
    struct json *details; // encrypted thinking, to be sent back with the calls
    bool ended;           // all blocks are closed
};

enum pi_status openai_begin(struct wire_answer **out, const struct wire_input *input,
                            struct message *message, struct pi_error *err)
{
    struct openai_answer *a = calloc(1, sizeof *a);
    if (!a) {
        return error_nomem(err);
    }
    if (!wire_answer_begin(&a->answer, input, message) ||
        openai_calls_init(&a->calls, input->request, NULL)) {
        openai_finish(&a->answer);
        return error_nomem(err);
    }
    a->cost = input->model->cost;
    *out = &a->answer;
    return PI_OK;
}

void openai_finish(struct wire_answer *answer)
{
    struct openai_answer *a = (struct openai_answer *)answer;
    if (!a) {
        return;
    }
    openai_calls_finish(&a->calls);
    think_tags_finish(&a->tags);
    buf_finish(&a->thinking);
    buf_finish(&a->text);
    json_destroy(a->details);
    wire_answer_finish(answer);
    free(a);
}

/* -- text and thinking -- */

static struct block *open_block(struct openai_answer *a)
{
    return a->open ? &a->answer.message->content.blocks[a->open_index] : NULL;
}

static bool close_open(struct openai_answer *a)
{
    bool was_open = a->open;
    a->open = false;
    return !was_open || wire_answer_close(&a->answer, a->open_index);
}

static bool add_to(struct openai_answer *a, enum block_type type, struct sv text)
{
    if (text.n == 0) {
        return true;
    }
    const struct block *b = open_block(a);
    if (!b || b->type != type) {
        if (!close_open(a) || !wire_answer_open(&a->answer, type, &a->open_index)) {
            return false;
        }
        a->open = true;
    }
    return wire_answer_add(&a->answer, a->open_index, text);
}

static bool add_parted(struct openai_answer *a)
{
    bool ok = buf_ok(&a->thinking) && buf_ok(&a->text) &&
              add_to(a, BLOCK_THINKING, buf_sv(&a->thinking)) &&
              add_to(a, BLOCK_TEXT, buf_sv(&a->text));
    buf_clear(&a->thinking);
    buf_clear(&a->text);
    return ok;
}

static bool add_text(struct openai_answer *a, const char *text)
{
    think_tags_feed(&a->tags, sv_of(text), &a->thinking, &a->text);
    return add_parted(a);
}

static bool add_content(struct openai_answer *a, const struct json *content);

// A list of parts: text, or thinking that is a list itself.
static bool add_part(struct openai_answer *a, const struct json *part)
{
    const struct json *thinking = json_get(part, "thinking");
    if (json_str(part) || json_get_str(part, "text")) {
        return add_text(a, json_str(part) ? json_str(part) : json_get_str(part, "text"));
    }
    if (json_str(thinking)) {
        return add_to(a, BLOCK_THINKING, sv_of(json_str(thinking)));
    }
    bool ok = true;
    for (const struct json *p = json_first(thinking); p && ok; p = json_next(p)) {
        ok = add_to(a, BLOCK_THINKING, sv_of(json_get_str(p, "text")));
    }
    return ok;
}

static bool add_content(struct openai_answer *a, const struct json *content)
{
    bool ok = true;
    if (json_str(content)) {
        return add_text(a, json_str(content));
    }
    for (const struct json *p = json_type(content) == JSON_ARRAY ? json_first(content)
                                                                 : NULL;
         p && ok; p = json_next(p)) {
        ok = add_part(a, p);
    }
    return ok;
}

// Some send the same thinking in two fields: the first that has any counts. Its name is
// kept as the signature, since some want it back in the same one.
static bool add_reasoning(struct openai_answer *a, const struct json *delta)
{
    static const char *const fields[] = {"reasoning_content", "reasoning",
                                         "reasoning_text"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct sv text = sv_of(json_get_str(delta, fields[i]));
        if (text.n > 0) {
            a->tags.state = TAGS_OVER;
            struct block *block = add_to(a, BLOCK_THINKING, text) ? open_block(a) : NULL;
            return block &&
                   (block->signature || wire_answer_set(&block->signature, fields[i]));
        }
    }
    return true;
}

static bool keep_details(struct openai_answer *a, const struct json *details)
{
    for (const struct json *d = json_type(details) == JSON_ARRAY ? json_first(details)
                                                                 : NULL;
         d; d = json_next(d)) {
        const char *type = json_get_str(d, "type");
        if (!type || strcmp(type, "reasoning.encrypted") != 0) {
            continue;
        }
        if (!a->details && !(a->details = json_new_array())) {
            return false;
        }
        if (!json_push(a->details, json_copy(d))) {
            return false;
        }
    }
    return true;
}

static bool add_calls(struct openai_answer *a, const struct json *calls)
{
    if (json_type(calls) != JSON_ARRAY || !json_first(calls)) {
        return true;
    }
    bool ok = close_open(a);
    for (const struct json *c = json_first(calls); c && ok; c = json_next(c)) {
        ok = openai_calls_take(&a->calls, &a->answer, c);
    }
    return ok;
}

static bool take_delta(struct openai_answer *a, const struct json *delta)
{
    return json_type(delta) != JSON_OBJECT ||
           (add_reasoning(a, delta) && add_content(a, json_get(delta, "content")) &&
            add_content(a, json_get(delta, "refusal")) &&
            keep_details(a, json_get(delta, "reasoning_details")) &&
            add_calls(a, json_get(delta, "tool_calls")));
}

/* -- usage -- */

static void read_usage(struct openai_answer *a, const struct json *usage)
{
    if (json_type(usage) != JSON_OBJECT) {
        return;
    }
    const struct json *prompt = json_get(usage, "prompt_tokens_details");
    const struct json *completion = json_get(usage, "completion_tokens_details");
    int64_t input = wire_answer_tokens(usage, "prompt_tokens");
    int64_t output = wire_answer_tokens(usage, "completion_tokens");
    int64_t reasoning = wire_answer_tokens(completion, "reasoning_tokens");
    int64_t written = wire_answer_tokens(prompt, "cache_write_tokens");
    int64_t cached = wire_answer_tokens(prompt, "cached_tokens");
    cached = cached ? cached : wire_answer_tokens(usage, "prompt_cache_hit_tokens");
    // What was written now is counted as cached, too.
    cached = cached > written ? cached - written : cached == written ? 0 : cached;
    // Some count thinking apart, as their total shows.
    if (wire_answer_tokens(usage, "total_tokens") == input + output + reasoning) {
        output += reasoning;
    }
    int64_t fresh = input - cached - written;
    struct usage *u = &a->answer.message->usage;
    u->input = fresh > 0 ? fresh : 0;
    u->output = output;
    u->cache_read = cached;
    u->cache_write = written;
    wire_answer_price(u, &a->cost);
}

/* -- the end -- */

static bool attach_details(struct openai_answer *a)
{
    for (const struct json *d = json_first(a->details); d; d = json_next(d)) {
        struct block *b = openai_calls_find(&a->calls, &a->answer, json_get_str(d, "id"));
        for (size_t i = 0; !b && i < a->calls.len; i++) {
            struct block *other =
                &a->answer.message->content.blocks[a->calls.calls[i].index];
            b = other->signature ? NULL : other;
        }
        struct buf text = {0};
        json_write(&text, d);
        bool ok =
            buf_ok(&text) && (!b || wire_answer_set(&b->signature, buf_cstr(&text)));
        buf_finish(&text);
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool end_blocks(struct openai_answer *a, bool cut_off)
{
    if (a->ended) {
        return true;
    }
    a->ended = true;
    think_tags_end(&a->tags, &a->thinking, &a->text);
    return add_parted(a) && close_open(a) && attach_details(a) &&
           openai_calls_end(&a->calls, &a->answer, cut_off);
}

struct stop {
    const char *name;
    enum stop_reason reason;
    int status; // of the failure
    const char *failure;
};

static const struct stop stops[] = {
    {"stop", STOP_STOP, 0, NULL},
    {"end", STOP_STOP, 0, NULL},
    {"eos", STOP_STOP, 0, NULL},
    {"tool_calls", STOP_STOP, 0, NULL},
    {"function_call", STOP_STOP, 0, NULL},
    {"length", STOP_LENGTH, 0, NULL},
    {"content_filter", STOP_ERROR, 400, "the answer was stopped by a content filter"},
    {"error", STOP_ERROR, 502, "the server broke off the answer"},
    {"network_error", STOP_ERROR, 502, "the server broke off the answer (network error)"},
    {"insufficient_system_resource", STOP_ERROR, 503, "the server is overloaded"},
    {"MALFORMED_FUNCTION_CALL", STOP_ERROR, 502, "the model made a call that is no JSON"},
    {"model_context_window_exceeded", STOP_ERROR, 400,
     "the conversation has filled the model's context window "
     "(model_context_window_exceeded)"},
};

// NULL for a reason that nobody knows.
static const struct stop *find_stop(const char *name)
{
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        if (strcmp(stops[i].name, name) == 0) {
            return &stops[i];
        }
    }
    // "function_call_filter: MALFORMED_FUNCTION_CALL"
    return strstr(name, "MALFORMED_FUNCTION_CALL") ? find_stop("MALFORMED_FUNCTION_CALL")
                                                   : NULL;
}

static void end_turn(struct openai_answer *a, const struct stop *stop, const char *name)
{
    struct message *m = a->answer.message;
    bool calls = a->calls.len > 0;
    a->answer.terminal = true;
    if (!stop) {
        wire_answer_fail(&a->answer, 400, "the answer ended for an unknown reason: %s",
                         name);
    } else if (stop->failure) {
        wire_answer_fail(&a->answer, stop->status, "%s", stop->failure);
    } else if (stop->reason == STOP_LENGTH && m->content.len == 0) {
        wire_answer_fail(&a->answer, 400,
                         "context window exceeded: there was no room left for an answer");
    } else if (stop->reason == STOP_LENGTH) {
        m->stop_reason = STOP_LENGTH;
    } else {
        m->stop_reason = calls ? STOP_TOOL_USE : STOP_STOP;
    }
}

// A router passes on how the server behind it ended, and calls it all a stop.
static const struct stop *native_failure(const struct json *choice)
{
    const char *native = json_get_str(choice, "native_finish_reason");
    const struct stop *stop = native ? find_stop(native) : NULL;
    return stop && stop->failure ? stop : NULL;
}

static bool take_finish(struct openai_answer *a, const struct json *choice)
{
    const char *name = json_get_str(choice, "finish_reason");
    if (!name || !name[0]) {
        return true;
    }
    const struct stop *stop = find_stop(name);
    const struct stop *native = native_failure(choice);
    stop = native ? native : stop;
    bool ok = end_blocks(a, stop && stop->reason == STOP_LENGTH);
    end_turn(a, stop, name);
    return ok;
}

/* -- events -- */

static bool fail_with(struct openai_answer *a, const struct json *error)
{
    struct buf text = {0};
    json_write(&text, error);
    bool ok = buf_ok(&text);
    wire_answer_fail_told(&a->answer, buf_sv(&text));
    buf_finish(&text);
    return ok;
}

static bool is_error(const struct json *chunk, struct sv name)
{
    bool answers = json_get(chunk, "choices") || json_get(chunk, "usage");
    return sv_eqs(name, "error") || error_body_is_error(chunk) ||
           (!answers && json_get_str(chunk, "message"));
}

static bool take_choice(struct openai_answer *a, const struct json *choice)
{
    if (json_type(json_get(choice, "error")) == JSON_OBJECT) {
        return fail_with(a, choice);
    }
    const struct json *delta = json_get(choice, "delta");
    delta = delta ? delta : json_get(choice, "message");
    return take_delta(a, delta) && take_finish(a, choice);
}

static bool take_chunk(struct openai_answer *a, const struct json *chunk, struct sv name)
{
    const struct json *choices = json_get(chunk, "choices");
    const struct json *choice =
        json_type(choices) == JSON_ARRAY ? json_first(choices) : NULL;
    if (json_type(chunk) != JSON_OBJECT && json_type(chunk) != JSON_ARRAY) {
        return true;
    }
    // Usage may come after the end; nothing else counts then.
    read_usage(a, json_get(chunk, "usage"));
    read_usage(a, json_get(choice, "usage"));
    if (a->answer.terminal) {
        return true;
    }
    if (is_error(chunk, name)) {
        return fail_with(a, chunk);
    }
    struct message *m = a->answer.message;
    bool ok =
        (m->response_id || wire_answer_set(&m->response_id, json_get_str(chunk, "id"))) &&
        (json_type(choice) != JSON_OBJECT || take_choice(a, choice));
    // An answer that does not stream.
    a->answer.over = a->answer.terminal && json_get(choice, "message");
    return ok;
}

// The sentinel. Without a reason before it, text may count as whole; a call may not.
static bool take_done(struct openai_answer *a)
{
    bool ok = true;
    a->answer.over = true;
    if (!a->answer.terminal && a->calls.len == 0) {
        ok = end_blocks(a, false);
        if (wire_answer_has(&a->answer, BLOCK_TEXT)) {
            end_turn(a, find_stop("stop"), "stop");
        }
    }
    return ok;
}

static bool is_done(struct sv data)
{
    while (data.n > 0 && strchr(" \t\r\n", data.p[data.n - 1])) {
        data.n--;
    }
    return sv_ends(data, sv_of("[DONE]")) && data.n <= strlen("[DONE]") + 2;
}

static void fail_unreadable(struct openai_answer *a, struct sv name, struct sv data)
{
    if (a->answer.terminal || data.n == 0) {
        return;
    }
    if (sv_eqs(name, "error")) {
        wire_answer_fail_told(&a->answer, data);
    } else {
        wire_answer_fail(&a->answer, 502, "the server sent something that is not JSON");
    }
}

enum pi_status openai_decode(struct wire_answer *answer, struct sv name, struct sv data,
                             struct pi_error *err)
{
    struct openai_answer *a = (struct openai_answer *)answer;
    struct json *chunk = NULL;
    bool ok = true;
    wire_answer_begin_events(answer);
    if (answer->over) {
        return PI_OK;
    }
    if (is_done(data)) {
        ok = take_done(a);
    } else {
        enum pi_status status = json_parse(&chunk, data, NULL, NULL);
        ok = status != PI_NOMEM;
        if (status == PI_OK) {
            ok = take_chunk(a, chunk, name);
        } else if (ok) {
            fail_unreadable(a, name, data);
        }
    }
    json_destroy(chunk);
    if (answer->failed) {
        answer->over = true;
        answer->message->stop_reason = STOP_ERROR;
    }
    enum pi_status settled = wire_answer_end_events(answer, err);
    return ok ? settled : error_nomem(err);
}

enum pi_status openai_end(struct wire_answer *answer, struct pi_error *err)
{
    struct openai_answer *a = (struct openai_answer *)answer;
    wire_answer_begin_events(answer);
    bool ok = end_blocks(a, true);
    if (!answer->terminal || answer->failed) {
        wire_answer_spoil_calls(answer);
    }
    enum pi_status settled = wire_answer_end_events(answer, err);
    return ok ? settled : error_nomem(err);
}
