#include "llm/wire_answer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "llm/error_body.h"
#include "text/utf8.h"

// Nobody's answer is larger; whoever sends more is broken.
enum { ANSWER_BYTES_MAX = 64 * 1024 * 1024, ANSWER_BLOCKS_MAX = 4096 };

enum { ERROR_BYTES_MAX = 64 * 1024 };

bool wire_answer_begin(struct wire_answer *a, const struct wire_input *input,
                       struct message *message)
{
    const struct llm_request *r = input->request;
    a->message = message;
    for (size_t i = 0; i < r->messages_len; i++) {
        const struct content *c = &r->messages[i]->content;
        for (size_t k = 0; k < c->len; k++) {
            const char *id = c->blocks[k].id;
            if (id && !map_set(&a->ids, sv_of(id), a)) {
                return false;
            }
        }
    }
    return true;
}

void wire_answer_finish(struct wire_answer *a)
{
    free(a->events);
    map_finish(&a->ids);
    buf_finish(&a->bytes);
    buf_finish(&a->error);
}

/* -- events -- */

void wire_answer_begin_events(struct wire_answer *a)
{
    a->events_len = 0;
    buf_clear(&a->bytes);
}

// While bytes grows it may move, so deltas have only a length until now.
enum pi_status wire_answer_end_events(struct wire_answer *a, struct pi_error *err)
{
    struct sv rest = buf_sv(&a->bytes);
    for (size_t i = 0; i < a->events_len; i++) {
        struct sv *delta = &a->events[i].delta;
        if (delta->n > 0) {
            *delta = sv_sub(rest, 0, delta->n);
            rest = sv_from(rest, delta->n);
        }
    }
    return buf_ok(&a->bytes) && buf_ok(&a->error) ? PI_OK : error_nomem(err);
}

static bool tell(struct wire_answer *a, size_t index, int step, size_t delta_bytes)
{
    // START, DELTA and END stand in this order.
    static const enum llm_event_type starts[] = {
        [BLOCK_TEXT] = LLM_TEXT_START,
        [BLOCK_THINKING] = LLM_THINKING_START,
        [BLOCK_TOOL_CALL] = LLM_TOOL_CALL_START,
    };
    struct llm_event *grown =
        vec_grow(a->events, &a->events_cap, a->events_len + 1, sizeof *grown);
    if (!grown) {
        return false;
    }
    a->events = grown;
    enum block_type type = a->message->content.blocks[index].type;
    a->events[a->events_len++] = (struct llm_event){
        .type = (enum llm_event_type)((int)starts[type] + step),
        .content_index = index,
        .delta = {.n = delta_bytes},
    };
    return true;
}

bool wire_answer_open(struct wire_answer *a, enum block_type type, size_t *index)
{
    struct content *c = &a->message->content;
    *index = c->len;
    if (!content_add(c, type)) {
        return false;
    }
    if (c->len > ANSWER_BLOCKS_MAX) {
        wire_answer_fail(a, 502, "the answer has more than %d parts", ANSWER_BLOCKS_MAX);
    }
    return tell(a, *index, 0, 0);
}

bool wire_answer_add(struct wire_answer *a, size_t index, struct sv text)
{
    struct buf *into = &a->message->content.blocks[index].text;
    if (text.n == 0) {
        return true;
    }
    if (into->len + text.n > ANSWER_BYTES_MAX) {
        wire_answer_fail(a, 502, "a part of the answer is larger than %d MiB",
                         ANSWER_BYTES_MAX / (1024 * 1024));
        return true;
    }
    buf_addsv(into, text);
    buf_addsv(&a->bytes, text);
    return buf_ok(into) && buf_ok(&a->bytes) && tell(a, index, 1, text.n);
}

bool wire_answer_close(struct wire_answer *a, size_t index)
{
    return tell(a, index, 2, 0);
}

void wire_answer_fail(struct wire_answer *a, int status, const char *format, ...)
{
    if (a->failed) {
        return;
    }
    va_list args;
    va_start(args, format);
    buf_vaddf(&a->error, format, args);
    va_end(args);
    if (a->error.len > ERROR_BYTES_MAX) {
        buf_truncate(&a->error, utf8_floor(buf_sv(&a->error), ERROR_BYTES_MAX));
    }
    a->failed = true;
    a->http_like_status = status;
    wire_answer_spoil_calls(a);
}

struct error_name {
    const char *name;
    int status;
};

static const struct error_name error_names[] = {
    {"invalid_request_error", 400}, {"authentication_error", 401},
    {"invalid_api_key", 401},       {"billing_error", 402},
    {"permission_error", 403},      {"not_found_error", 404},
    {"request_too_large", 413},     {"rate_limit_error", 429},
    {"rate_limit_exceeded", 429},   {"api_error", 500},
    {"server_error", 500},          {"internal_server_error", 500},
    {"timeout_error", 504},         {"overloaded_error", 529},
};

// 0 when none of the names says anything.
static int status_of(const char *names)
{
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++) {
        if (strstr(names, error_names[i].name)) {
            return error_names[i].status;
        }
    }
    return 0;
}

void wire_answer_fail_told(struct wire_answer *a, struct sv told)
{
    struct error_body body = {0};
    error_body_read(&body, told);
    int status = body.status ? body.status : status_of(buf_cstr(&body.kind));
    a->error.failed = a->error.failed || !buf_ok(&body.words) || !buf_ok(&body.kind);
    error_body_finish(&body);
    wire_answer_fail(a, status, "%.*s", (int)(told.n < INT_MAX ? told.n : INT_MAX),
                     told.p);
}

bool wire_answer_set(char **out, const char *text)
{
    char *copy = text && text[0] ? strdup(text) : NULL;
    if (copy) {
        free(*out);
        *out = copy;
    }
    return copy || !text || !text[0];
}

bool wire_answer_set_id(struct wire_answer *a, size_t index, const char *id)
{
    struct block *b = &a->message->content.blocks[index];
    struct buf made = {0};
    if (id && id[0]) {
        buf_adds(&made, id);
    } else {
        buf_addf(&made, "call_%" PRId64 "_%zu", a->message->timestamp_ms, index);
    }
    size_t n = made.len;
    for (unsigned try = 2; buf_ok(&made) && map_get(&a->ids, buf_sv(&made)); try++) {
        buf_truncate(&made, n);
        buf_addf(&made, "_%u", try);
    }
    bool ok = buf_ok(&made) && map_set(&a->ids, buf_sv(&made), a);
    free(b->id);
    b->id = buf_take(&made);
    return ok && b->id;
}

void wire_answer_spoil_calls(struct wire_answer *a)
{
    struct content *c = &a->message->content;
    for (size_t i = 0; i < c->len; i++) {
        c->blocks[i].complete = false;
    }
}

bool wire_answer_has(const struct wire_answer *a, enum block_type type)
{
    const struct content *c = &a->message->content;
    for (size_t i = 0; i < c->len; i++) {
        if (c->blocks[i].type == type) {
            return true;
        }
    }
    return false;
}

int64_t wire_answer_tokens(const struct json *object, const char *key)
{
    const double most = 1e12;
    double n = json_get_num(object, key, 0);
    return n > 0 && n <= most ? (int64_t)n : 0;
}

void wire_answer_price(struct usage *u, const struct model_cost *cost)
{
    const double million = 1e6;
    u->total = u->input + u->output + u->cache_read + u->cache_write;
    u->cost_input = (double)u->input * cost->input / million;
    u->cost_output = (double)u->output * cost->output / million;
    u->cost_cache_read = (double)u->cache_read * cost->cache_read / million;
    u->cost_cache_write = (double)u->cache_write * cost->cache_write / million;
    u->cost_total =
        u->cost_input + u->cost_output + u->cost_cache_read + u->cost_cache_write;
}
