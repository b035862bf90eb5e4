#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_prefix.h"
#include "llm/provider.h"
#include "llm/replay_file.h"
#include "sys/clock.h"
#include "sys/file.h"

enum { CHUNK_BYTES = 16, FOUND_BYTES = 200, FILE_MAX = 64 * 1024 * 1024 };

enum phase { AT_START, AT_BLOCK, IN_BLOCK, OVER };

struct replay {
    struct llm_stream stream; // first
    struct replay_file file;
    const char *source; // its path, during open only
    size_t turn_index;
    const struct json *turn;  // NULL: the turn is an error of the file's use
    const struct json *block; // the next one to begin, or the open one
    enum phase phase;
    struct buf text; // of the open block, whole
    size_t sent;     // bytes of it
    size_t chunk;
    int64_t pause_ms;      // between deltas
    int64_t not_before_ms; // when the next event is due
    struct buf failure;    // message of the error that ends the turn
};

/* Turn and expectation */

// The turn is chosen from the request alone, so that a resumed conversation goes on where
// it was.
static size_t turn_of(const struct llm_request *request)
{
    size_t n = request->failed;
    for (size_t i = 0; i < request->messages_len; i++) {
        n += request->messages[i]->role == ROLE_ASSISTANT;
    }
    return n;
}

// What the model was told since it last spoke.
static void last_words(const struct llm_request *request, struct buf *out)
{
    size_t first = request->messages_len;
    while (first > 0 && request->messages[first - 1]->role != ROLE_ASSISTANT) {
        first--;
    }
    for (size_t i = first; i < request->messages_len; i++) {
        if (out->len > 0) {
            buf_addc(out, '\n');
        }
        content_text(&request->messages[i]->content, out);
    }
}

static bool contains(struct sv text, const char *part)
{
    size_t n = strlen(part);
    return n == 0 || (text.n > 0 && memmem(text.p, text.n, part, n));
}

static void check_expected(struct replay *r, const char *part, struct sv found)
{
    if (!part || r->failure.len > 0 || contains(found, part)) {
        return;
    }
    buf_addf(&r->failure, "%s, turn %zu: expected to be told \"%s\", but found \"",
             r->source, r->turn_index + 1, part);
    size_t n = found.n < FOUND_BYTES ? found.n : FOUND_BYTES;
    while (n < found.n && n > 0 && (found.p[n] & 0xC0) == 0x80) {
        n--;
    }
    buf_add(&r->failure, found.p, n);
    buf_adds(&r->failure, n < found.n ? "...\"" : "\"");
}

static void choose_turn(struct replay *r, const struct llm_request *request)
{
    r->turn_index = turn_of(request);
    r->turn = replay_file_turn(&r->file, r->turn_index);
    if (!r->turn) {
        buf_addf(&r->failure, "%s has %zu turns, but the model was asked for turn %zu",
                 r->source, replay_file_len(&r->file), r->turn_index + 1);
        return;
    }
    struct buf found = {0};
    last_words(request, &found);
    const struct json *expect = json_get(r->turn, "expect");
    check_expected(r, json_str(expect), buf_sv(&found));
    for (const struct json *e = json_type(expect) == JSON_ARRAY ? json_first(expect)
                                                                : NULL;
         e; e = json_next(e)) {
        check_expected(r, json_str(e), buf_sv(&found));
    }
    buf_finish(&found);
    if (r->failure.len > 0) {
        r->turn = NULL;
    }
}

/* Opening */

static enum pi_status load(struct replay_file *out, const char *path,
                           struct pi_error *err)
{
    struct buf text = {0};
    struct pi_error why = {0};
    enum pi_status status = file_load(&text, path, FILE_MAX, err);
    if (!status) {
        status = replay_file_parse(out, buf_sv(&text), &why);
        if (status) {
            error_set(err, status, "%s: %s", path, why.message);
        }
    }
    buf_finish(&text);
    return status;
}

static void replay_close(struct llm_stream *stream)
{
    struct replay *r = (struct replay *)stream;
    if (!r) {
        return;
    }
    message_destroy(r->stream.message);
    replay_file_finish(&r->file);
    buf_finish(&r->text);
    buf_finish(&r->failure);
    free(r);
}

static enum pi_status replay_open(struct llm_stream **out, const struct model *model,
                                  const struct llm_request *request, struct pi_error *err)
{
    enum pi_status status;
    struct replay *r = calloc(1, sizeof(*r));
    struct message *m = r ? message_create(ROLE_ASSISTANT) : NULL;
    if (!m || !provider_name_message(m, model)) {
        message_destroy(m);
        free(r);
        return error_nomem(err);
    }
    r->stream = (struct llm_stream){.provider = &provider_replay, .message = m};
    r->source = model->source;
    status = load(&r->file, model->source, err);
    if (status) {
        replay_close(&r->stream);
        return status;
    }
    choose_turn(r, request);
    r->chunk = (size_t)json_get_num(r->turn, "chunk", CHUNK_BYTES);
    r->chunk = r->chunk > 0 ? r->chunk : SIZE_MAX;
    r->pause_ms = (int64_t)json_get_num(r->turn, "chunkDelayMs", 0);
    r->not_before_ms = clock_mono_ms() + (int64_t)json_get_num(r->turn, "delayMs", 0);
    r->block = json_first(json_get(r->turn, "blocks"));
    *out = &r->stream;
    return PI_OK;
}

/* Blocks */

static enum block_type type_of(const struct json *block)
{
    if (json_get(block, "thinking")) {
        return BLOCK_THINKING;
    }
    return json_get(block, "call") ? BLOCK_TOOL_CALL : BLOCK_TEXT;
}

static void fill_text(struct buf *out, const struct json *block)
{
    const struct json *repeated = json_get(block, "repeatText");
    const struct json *call = json_get(block, "call");
    const char *text = json_get_str(block, "text");
    text = text ? text : json_get_str(block, "thinking");
    text = text ? text : json_get_str(call, "argumentsText");
    if (text) {
        buf_adds(out, text);
    } else if (repeated) {
        struct sv unit = sv_of(json_get_str(repeated, "s"));
        double times = json_get_num(repeated, "n", 0);
        for (size_t n = times > 0 && times < 1e9 ? (size_t)times : 0; n > 0; n--) {
            buf_addsv(out, unit);
        }
    } else if (json_get(call, "arguments")) {
        json_write(out, json_get(call, "arguments"));
    } else {
        buf_adds(out, "{}");
    }
}

static bool copy_text(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

static bool fill_call(struct replay *r, struct block *b, const struct json *call)
{
    const char *id = json_get_str(call, "id");
    struct buf made = {0};
    if (!id) {
        buf_addf(&made, "call_%zu_%zu", r->turn_index + 1,
                 r->stream.message->content.len);
        id = buf_cstr(&made);
    }
    bool ok = buf_ok(&made) && copy_text(&b->id, id) &&
              copy_text(&b->name, json_get_str(call, "name"));
    buf_finish(&made);
    return ok;
}

static struct block *open_block(struct replay *r)
{
    struct content *c = &r->stream.message->content;
    return c->len > 0 ? &c->blocks[c->len - 1] : NULL;
}

// The event of the open block's type: START, DELTA and END stand in this order.
static void set_event(struct replay *r, struct llm_event *event, int step,
                      struct sv delta)
{
    static const enum llm_event_type starts[] = {
        [BLOCK_TEXT] = LLM_TEXT_START,
        [BLOCK_THINKING] = LLM_THINKING_START,
        [BLOCK_TOOL_CALL] = LLM_TOOL_CALL_START,
    };
    *event = (struct llm_event){
        .type = (enum llm_event_type)((int)starts[open_block(r)->type] + step),
        .content_index = r->stream.message->content.len - 1,
        .delta = delta,
    };
}

static enum pi_status begin_block(struct replay *r, struct llm_event *event,
                                  struct pi_error *err)
{
    struct block *b = content_add(&r->stream.message->content, type_of(r->block));
    const struct json *call = json_get(r->block, "call");
    if (!b || !copy_text(&b->signature, json_get_str(r->block, "signature")) ||
        (call && !fill_call(r, b, call))) {
        return error_nomem(err);
    }
    buf_clear(&r->text);
    fill_text(&r->text, r->block);
    if (!buf_ok(&r->text)) {
        return error_nomem(err);
    }
    r->sent = 0;
    r->phase = IN_BLOCK;
    set_event(r, event, 0, (struct sv){0});
    return PI_OK;
}

// The end of the next delta: whole characters, at least one.
static size_t delta_end(const struct replay *r)
{
    size_t left = r->text.len - r->sent;
    size_t end = r->sent + (left < r->chunk ? left : r->chunk);
    size_t floor = end;
    while (floor > r->sent && floor < r->text.len &&
           (r->text.data[floor] & 0xC0) == 0x80) {
        floor--;
    }
    if (floor > r->sent) {
        return floor;
    }
    while (end < r->text.len && (r->text.data[end] & 0xC0) == 0x80) {
        end++;
    }
    return end;
}

static enum pi_status send_delta(struct replay *r, struct llm_event *event,
                                 struct pi_error *err)
{
    struct block *b = open_block(r);
    size_t end = delta_end(r);
    struct sv delta = sv_make(r->text.data + r->sent, end - r->sent);
    buf_addsv(&b->text, delta);
    if (!buf_ok(&b->text)) {
        return error_nomem(err);
    }
    r->sent = end;
    set_event(r, event, 1, delta);
    if (r->pause_ms > 0) {
        r->not_before_ms = clock_mono_ms() + r->pause_ms;
    }
    return PI_OK;
}

static bool is_cut(const struct replay *r)
{
    const char *stop = json_get_str(r->turn, "stopReason");
    if (json_next(r->block) || !stop || strcmp(stop, "length") != 0) {
        return false;
    }
    struct json_prefix scan = {0};
    json_prefix_feed(&scan, buf_sv(&r->text));
    return !json_prefix_complete(&scan);
}

static bool ends_in_error(const struct replay *r)
{
    return !r->turn || json_get(r->turn, "error");
}

// True when the block ends with an event; a connection that is lost sends none.
static bool end_block(struct replay *r, struct llm_event *event)
{
    struct block *b = open_block(r);
    bool lost = ends_in_error(r) && !json_next(r->block);
    b->complete = b->type == BLOCK_TOOL_CALL && !lost && !is_cut(r);
    set_event(r, event, 2, (struct sv){0});
    r->block = json_next(r->block);
    r->phase = AT_BLOCK;
    return !lost;
}

/* The end */

static enum stop_reason stop_of(const struct replay *r)
{
    const char *stop = json_get_str(r->turn, "stopReason");
    if (stop) {
        return strcmp(stop, "length") == 0    ? STOP_LENGTH
               : strcmp(stop, "toolUse") == 0 ? STOP_TOOL_USE
                                              : STOP_STOP;
    }
    const struct content *c = &r->stream.message->content;
    for (size_t i = 0; i < c->len; i++) {
        if (c->blocks[i].type == BLOCK_TOOL_CALL) {
            return STOP_TOOL_USE;
        }
    }
    return STOP_STOP;
}

static void count_usage(struct replay *r)
{
    const struct json *counts = json_get(r->turn, "usage");
    struct usage *u = &r->stream.message->usage;
    u->input = (int64_t)json_get_num(counts, "input", 0);
    u->output = (int64_t)json_get_num(counts, "output", 0);
    u->cache_read = (int64_t)json_get_num(counts, "cacheRead", 0);
    u->cache_write = (int64_t)json_get_num(counts, "cacheWrite", 0);
    int64_t sum = u->input + u->output + u->cache_read + u->cache_write;
    u->total = (int64_t)json_get_num(counts, "totalTokens", (double)sum);
}

static enum pi_status end_turn(struct replay *r, struct llm_event *event,
                               struct pi_error *err)
{
    struct message *m = r->stream.message;
    r->phase = OVER;
    count_usage(r);
    if (!ends_in_error(r)) {
        m->stop_reason = stop_of(r);
        *event = (struct llm_event){.type = LLM_DONE};
        return PI_OK;
    }
    const char *error = json_get_str(r->turn, "error");
    m->stop_reason = STOP_ERROR;
    m->error_message = strdup(error ? error : buf_cstr(&r->failure));
    *event = (struct llm_event){.type = LLM_ERROR};
    return m->error_message ? PI_OK : error_nomem(err);
}

static enum pi_status replay_next(struct llm_stream *stream, struct llm_event *event,
                                  int *wait_ms, struct pi_error *err)
{
    struct replay *r = (struct replay *)stream;
    if (r->not_before_ms > 0) {
        int64_t left = r->not_before_ms - clock_mono_ms();
        if (left > 0) {
            *wait_ms = left < INT_MAX ? (int)left : INT_MAX;
            return PI_MORE;
        }
        r->not_before_ms = 0;
    }
    switch (r->phase) {
    case AT_START:
        r->phase = AT_BLOCK;
        *event = (struct llm_event){.type = LLM_START};
        return PI_OK;
    case AT_BLOCK:
        return r->block ? begin_block(r, event, err) : end_turn(r, event, err);
    case IN_BLOCK:
        if (r->sent < r->text.len) {
            return send_delta(r, event, err);
        }
        return end_block(r, event) ? PI_OK : end_turn(r, event, err);
    case OVER:
        break;
    }
    return error_set(err, PI_CLOSED, "the answer is at its end");
}

const struct provider provider_replay = {
    .api = "replay",
    .open = replay_open,
    .next = replay_next,
    .close = replay_close,
};
