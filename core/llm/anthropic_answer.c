#include "llm/anthropic_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "llm/arguments.h"
#include "llm/wire_answer.h"

// A block of the stream. The server numbers its blocks; not all of them become ours.
struct part {
    int64_t number;
    bool ignored;
    bool open;
    size_t index;         // of the message's block
    struct buf input;     // of a call, when it came whole with the start
    struct buf signature; // comes in pieces
};

struct anthropic_answer {
    struct wire_answer answer; // first
    struct model_cost cost;
    struct part *parts;
    size_t parts_len, parts_cap;
    char *stop_reason;
    char *stop_category; // of a refusal
};

typedef bool (*handler)(struct anthropic_answer *, const struct json *);

enum pi_status anthropic_begin(struct wire_answer **out, const struct wire_input *input,
                               struct message *message, struct pi_error *err)
{
    struct anthropic_answer *a = calloc(1, sizeof *a);
    if (!a) {
        return error_nomem(err);
    }
    if (!wire_answer_begin(&a->answer, input, message)) {
        anthropic_finish(&a->answer);
        return error_nomem(err);
    }
    a->cost = input->model->cost;
    *out = &a->answer;
    return PI_OK;
}

void anthropic_finish(struct wire_answer *answer)
{
    struct anthropic_answer *a = (struct anthropic_answer *)answer;
    if (!a) {
        return;
    }
    for (size_t i = 0; i < a->parts_len; i++) {
        buf_finish(&a->parts[i].input);
        buf_finish(&a->parts[i].signature);
    }
    free(a->parts);
    free(a->stop_reason);
    free(a->stop_category);
    wire_answer_finish(answer);
    free(a);
}

static struct block *block_of(struct anthropic_answer *a, const struct part *p)
{
    return &a->answer.message->content.blocks[p->index];
}

/* -- parts -- */

static int64_t number_of(const struct json *event)
{
    double n = json_get_num(event, "index", -1);
    return n >= 0 && n < 1e9 ? (int64_t)n : -1;
}

// The newest part with this number, NULL when there is none.
static struct part *find_part(struct anthropic_answer *a, int64_t number)
{
    for (size_t i = a->parts_len; i > 0; i--) {
        if (a->parts[i - 1].number == number) {
            return &a->parts[i - 1];
        }
    }
    return NULL;
}

static struct part *add_part(struct anthropic_answer *a, int64_t number)
{
    struct part *grown =
        vec_grow(a->parts, &a->parts_cap, a->parts_len + 1, sizeof *grown);
    if (!grown) {
        return NULL;
    }
    a->parts = grown;
    a->parts[a->parts_len] = (struct part){.number = number, .open = true};
    return &a->parts[a->parts_len++];
}

static struct part *open_part(struct anthropic_answer *a, int64_t number,
                              enum block_type type)
{
    struct part *p = add_part(a, number);
    return p && wire_answer_open(&a->answer, type, &p->index) ? p : NULL;
}

static bool add_string(struct anthropic_answer *a, const struct part *p,
                       const struct json *from, const char *key)
{
    return wire_answer_add(&a->answer, p->index, sv_of(json_get_str(from, key)));
}

static bool start_text(struct anthropic_answer *a, int64_t number,
                       const struct json *block)
{
    struct part *p = open_part(a, number, BLOCK_TEXT);
    return p && add_string(a, p, block, "text");
}

static bool start_thinking(struct anthropic_answer *a, int64_t number,
                           const struct json *block)
{
    struct part *p = open_part(a, number, BLOCK_THINKING);
    if (!p) {
        return false;
    }
    buf_addsv(&p->signature, sv_of(json_get_str(block, "signature")));
    return add_string(a, p, block, "thinking");
}

static bool start_redacted(struct anthropic_answer *a, int64_t number,
                           const struct json *block)
{
    struct part *p = open_part(a, number, BLOCK_THINKING);
    if (!p) {
        return false;
    }
    block_of(a, p)->redacted = true;
    buf_addsv(&p->signature, sv_of(json_get_str(block, "data")));
    return true;
}

static bool start_call(struct anthropic_answer *a, int64_t number,
                       const struct json *block)
{
    struct part *p = open_part(a, number, BLOCK_TOOL_CALL);
    if (!p) {
        return false;
    }
    const struct json *input = json_get(block, "input");
    if (json_type(input) == JSON_OBJECT && json_first(input)) {
        json_write(&p->input, input);
    }
    const char *name = json_get_str(block, "name");
    block_of(a, p)->name = strdup(name ? name : "");
    return block_of(a, p)->name &&
           wire_answer_set_id(&a->answer, p->index, json_get_str(block, "id"));
}

static bool on_block_start(struct anthropic_answer *a, const struct json *event)
{
    static const struct {
        const char *type;
        bool (*start)(struct anthropic_answer *, int64_t, const struct json *);
    } kinds[] = {
        {"text", start_text},
        {"thinking", start_thinking},
        {"redacted_thinking", start_redacted},
        {"tool_use", start_call},
    };
    const struct json *block = json_get(event, "content_block");
    const char *type = json_get_str(block, "type");
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].start(a, number_of(event), block);
        }
    }
    struct part *p = add_part(a, number_of(event));
    if (p) {
        p->ignored = true;
    }
    return p != NULL;
}

struct delta_kind {
    const char *type, *key;
    enum block_type block;
};

static const struct delta_kind deltas[] = {
    {"text_delta", "text", BLOCK_TEXT},
    {"thinking_delta", "thinking", BLOCK_THINKING},
    {"signature_delta", "signature", BLOCK_THINKING},
    {"input_json_delta", "partial_json", BLOCK_TOOL_CALL},
};

static bool on_block_delta(struct anthropic_answer *a, const struct json *event)
{
    const struct json *delta = json_get(event, "delta");
    const char *type = json_get_str(delta, "type");
    const struct delta_kind *kind = NULL;
    for (size_t i = 0; type && i < sizeof deltas / sizeof *deltas; i++) {
        if (strcmp(deltas[i].type, type) == 0) {
            kind = &deltas[i];
        }
    }
    if (!kind) {
        return true;
    }
    struct part *p = find_part(a, number_of(event));
    if (!p && kind->block != BLOCK_TOOL_CALL) {
        // Some servers do not announce text.
        p = open_part(a, number_of(event), kind->block);
        if (!p) {
            return false;
        }
    }
    if (!p || p->ignored || !p->open || block_of(a, p)->type != kind->block) {
        return true;
    }
    if (kind == &deltas[2]) {
        buf_addsv(&p->signature, sv_of(json_get_str(delta, "signature")));
        return buf_ok(&p->signature);
    }
    return add_string(a, p, delta, kind->key);
}

static bool close_call(struct anthropic_answer *a, struct part *p)
{
    struct block *b = block_of(a, p);
    if (b->text.len == 0 && p->input.len > 0) {
        buf_finish(&b->text);
        b->text = p->input;
        p->input = (struct buf){0};
    }
    return arguments_end(b, NULL) == PI_OK;
}

static bool close_part(struct anthropic_answer *a, struct part *p)
{
    if (p->ignored || !p->open) {
        return true;
    }
    p->open = false;
    struct block *b = block_of(a, p);
    bool ok = buf_ok(&p->input) && buf_ok(&p->signature);
    if (b->type == BLOCK_TOOL_CALL) {
        ok = ok && close_call(a, p);
    } else if (p->signature.len > 0) {
        ok = ok && (b->signature = buf_take(&p->signature));
    }
    return ok && wire_answer_close(&a->answer, p->index);
}

static bool on_block_stop(struct anthropic_answer *a, const struct json *event)
{
    struct part *p = find_part(a, number_of(event));
    return !p || close_part(a, p);
}

static bool close_parts(struct anthropic_answer *a)
{
    bool ok = true;
    for (size_t i = 0; i < a->parts_len; i++) {
        ok = close_part(a, &a->parts[i]) && ok;
    }
    return ok;
}

/* -- the message -- */

// Counts are cumulative, and later ones may leave out or null what was told before.
static void read_usage(struct anthropic_answer *a, const struct json *usage)
{
    struct usage *u = &a->answer.message->usage;
    struct {
        const char *key;
        int64_t *count;
    } counts[] = {
        {"input_tokens", &u->input},
        {"output_tokens", &u->output},
        {"cache_read_input_tokens", &u->cache_read},
        {"cache_creation_input_tokens", &u->cache_write},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (json_type(json_get(usage, counts[i].key)) == JSON_NUMBER) {
            *counts[i].count = wire_answer_tokens(usage, counts[i].key);
        }
    }
    wire_answer_price(u, &a->cost);
}

static bool on_message_start(struct anthropic_answer *a, const struct json *event)
{
    const struct json *message = json_get(event, "message");
    read_usage(a, json_get(message, "usage"));
    return wire_answer_set(&a->answer.message->response_id, json_get_str(message, "id"));
}

static bool on_message_delta(struct anthropic_answer *a, const struct json *event)
{
    const struct json *delta = json_get(event, "delta");
    const struct json *details = json_get(delta, "stop_details");
    read_usage(a, json_get(event, "usage"));
    return wire_answer_set(&a->stop_reason, json_get_str(delta, "stop_reason")) &&
           wire_answer_set(&a->stop_category, json_get_str(details, "category"));
}

struct stop {
    const char *name;
    enum stop_reason reason;
    const char *failure; // the answer is none
};

static const struct stop stops[] = {
    {"end_turn", STOP_STOP, NULL},
    {"stop_sequence", STOP_STOP, NULL},
    {"pause_turn", STOP_STOP, NULL},
    {"tool_use", STOP_TOOL_USE, NULL},
    {"max_tokens", STOP_LENGTH, NULL},
    {"refusal", STOP_ERROR, "the model refused to answer"},
    {"sensitive", STOP_ERROR, "the model refused to answer: the text is sensitive"},
    {"model_context_window_exceeded", STOP_ERROR,
     "the conversation has filled the model's context window "
     "(model_context_window_exceeded)"},
};

// Where the tokens ran out, arguments that are not there were cut off.
static void distrust_last_call(struct anthropic_answer *a)
{
    const struct content *c = &a->answer.message->content;
    struct block *last = c->len > 0 ? &c->blocks[c->len - 1] : NULL;
    if (last && last->type == BLOCK_TOOL_CALL && sv_eqs(buf_sv(&last->text), "{}")) {
        last->complete = false;
    }
}

static void end_turn(struct anthropic_answer *a)
{
    struct message *m = a->answer.message;
    bool calls = wire_answer_has(&a->answer, BLOCK_TOOL_CALL);
    const char *name = a->stop_reason ? a->stop_reason : "end_turn";
    const struct stop *stop = NULL;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        if (strcmp(stops[i].name, name) == 0) {
            stop = &stops[i];
        }
    }
    m->stop_reason = stop ? stop->reason : STOP_ERROR;
    if (!stop) {
        wire_answer_fail(&a->answer, 400, "the answer ended for an unknown reason: %s",
                         name);
    } else if (stop->failure) {
        wire_answer_fail(&a->answer, 400, "%s%s%s", stop->failure,
                         a->stop_category ? ": " : "",
                         a->stop_category ? a->stop_category : "");
    } else if (calls && !a->stop_reason) {
        wire_answer_fail(&a->answer, 502, "the answer ended without a reason");
        m->stop_reason = STOP_ERROR;
    } else if (stop->reason == STOP_LENGTH) {
        distrust_last_call(a);
    } else {
        m->stop_reason = calls ? STOP_TOOL_USE : STOP_STOP;
        a->answer.continue_turn = !calls && strcmp(name, "pause_turn") == 0;
    }
}

static bool on_message_stop(struct anthropic_answer *a, const struct json *event)
{
    (void)event;
    bool ok = close_parts(a);
    end_turn(a);
    a->answer.terminal = true;
    a->answer.over = true;
    return ok;
}

static bool on_error(struct anthropic_answer *a, const struct json *event)
{
    struct buf text = {0};
    json_write(&text, event);
    bool ok = buf_ok(&text);
    wire_answer_fail_told(&a->answer, buf_sv(&text));
    buf_finish(&text);
    return ok;
}

// An answer that does not stream: each part starts and stops at once.
static bool on_whole_message(struct anthropic_answer *a, const struct json *event)
{
    bool ok =
        wire_answer_set(&a->answer.message->response_id, json_get_str(event, "id")) &&
        wire_answer_set(&a->stop_reason, json_get_str(event, "stop_reason"));
    read_usage(a, json_get(event, "usage"));
    int64_t number = 0;
    for (const struct json *b = json_first(json_get(event, "content")); ok && b;
         b = json_next(b)) {
        struct json *start = json_new_object();
        ok = start && json_set_int(start, "index", number++) &&
             json_set(start, "content_block", json_copy(b)) && on_block_start(a, start) &&
             on_block_stop(a, start);
        json_destroy(start);
    }
    return ok && on_message_stop(a, event);
}

/* -- events -- */

static handler find_handler(const char *type)
{
    static const struct {
        const char *type;
        handler handle;
    } handlers[] = {
        {"content_block_delta", on_block_delta}, {"content_block_start", on_block_start},
        {"content_block_stop", on_block_stop},   {"message_start", on_message_start},
        {"message_delta", on_message_delta},     {"message_stop", on_message_stop},
        {"message", on_whole_message},           {"error", on_error},
    };
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            return handlers[i].handle;
        }
    }
    return NULL;
}

// The type in the data counts; the name of the event is the same, or missing.
static bool handle(struct anthropic_answer *a, const char *name, const struct json *event)
{
    const char *type = json_get_str(event, "type");
    handler found = find_handler(type ? type : name);
    if (!found && json_get(event, "error")) {
        found = on_error;
    }
    return !found || json_type(event) != JSON_OBJECT || found(a, event);
}

// An event that nobody knows may be one of somebody else's format.
static void fail_unreadable(struct anthropic_answer *a, const char *name, struct sv data)
{
    if (strcmp(name, "error") == 0) {
        wire_answer_fail_told(&a->answer, data);
    } else if (find_handler(name)) {
        wire_answer_fail(&a->answer, 502, "the server sent an event that is not JSON");
    }
}

enum pi_status anthropic_decode(struct wire_answer *answer, struct sv name,
                                struct sv data, struct pi_error *err)
{
    struct anthropic_answer *a = (struct anthropic_answer *)answer;
    struct json *event = NULL;
    char event_name[32] = "";
    wire_answer_begin_events(answer);
    if (answer->over) {
        return PI_OK;
    }
    if (name.n < sizeof event_name) {
        memcpy(event_name, name.n > 0 ? name.p : "", name.n);
    }
    enum pi_status status = json_parse(&event, data, NULL, NULL);
    bool ok = status != PI_NOMEM;
    if (status == PI_OK) {
        ok = handle(a, event_name, event);
    } else if (ok) {
        fail_unreadable(a, event_name, data);
    }
    json_destroy(event);
    answer->over = answer->over || answer->failed;
    if (answer->failed) {
        answer->message->stop_reason = STOP_ERROR;
    }
    enum pi_status settled = wire_answer_end_events(answer, err);
    return ok ? settled : error_nomem(err);
}

enum pi_status anthropic_end(struct wire_answer *answer, struct pi_error *err)
{
    struct anthropic_answer *a = (struct anthropic_answer *)answer;
    wire_answer_begin_events(answer);
    bool ok = close_parts(a);
    if (!answer->terminal || answer->failed) {
        wire_answer_spoil_calls(answer);
    }
    enum pi_status settled = wire_answer_end_events(answer, err);
    return ok ? settled : error_nomem(err);
}
