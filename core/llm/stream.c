// One answer over HTTP: bytes to events of the wire format to events of the loop. Only
// the format's terminal event makes it a success.

#include "llm/stream.h"

#include <stdlib.h>
#include <string.h>

#include "llm/body_kind.h"
#include "llm/error_body.h"
#include "llm/event_queue.h"
#include "llm/header_list.h"
#include "llm/provider.h"
#include "llm/refusal.h"
#include "llm/wire.h"
#include "net/http.h"
#include "net/sse.h"
#include "net/url.h"
#include "sys/clock.h"

enum {
    IDLE_PUBLIC_MS = 5 * 60 * 1000,
    IDLE_PRIVATE_MS = 30 * 60 * 1000, // prompts are read in silence, on slow machines
    USAGE_TAIL_MS = 2000,             // for what may follow the terminal event
    BODY_TAIL_MS = 50, // for the end of the body, which keeps the connection usable
    ERROR_TAIL_MS = 10 * 1000, // for the body of an error
    ERROR_BODY_MAX = 64 * 1024,
    JSON_BODY_MAX = 64 * 1024 * 1024,
};

enum phase {
    AT_HEAD,     // it is not known yet what comes
    AT_EVENTS,   // server-sent events; the first of them may still stand in `body`
    AT_DOCUMENT, // a body that is needed whole
    AT_ANSWER,   // the document is there and is an answer
    AT_END,      // the queue ends with the terminal event
};

struct stream {
    struct llm_stream base; // first
    const struct wire *wire;
    struct wire_answer *answer;
    struct wire_request request;
    struct header_list headers;
    struct buf host; // for messages
    struct wire_tuning *tuning;
    struct http *http;
    struct http_call *call;
    int64_t idle_ms;
    bool reopened;
    bool decoded; // the decoder had its last look
    enum phase phase;
    enum body_kind kind;
    struct buf body; // undecided or document
    struct sse sse;
    bool tail;           // only the end of the body is waited for
    int64_t deadline_ms; // when the rest is no longer waited for; 0 = none yet
    struct event_queue queue;
    enum pi_status broken; // of a decoder inside a callback
    struct pi_error error;
};

static enum pi_status push(struct stream *s, struct llm_event event)
{
    return event_queue_push(&s->queue, &event) ? PI_OK : error_nomem(&s->error);
}

// Takes over what the decoder has produced.
static enum pi_status push_decoded(struct stream *s)
{
    enum pi_status status = PI_OK;
    for (size_t i = 0; i < s->answer->events_len && !status; i++) {
        status = push(s, s->answer->events[i]);
    }
    s->answer->events_len = 0;
    return status;
}

/* -- the ends -- */

// The decoder's last look: it closes what is open.
static enum pi_status end_decoding(struct stream *s)
{
    if (s->decoded) {
        return PI_OK;
    }
    s->decoded = true;
    enum pi_status status = s->wire->end(s->answer, &s->error);
    return status ? status : push_decoded(s);
}

// Ends the stream with an error; words are taken over.
static enum pi_status fail(struct stream *s, struct llm_failure failure,
                           struct buf *words)
{
    struct message *m = s->base.message;
    enum pi_status status = end_decoding(s);
    free(m->error_message);
    m->error_message = buf_take(words);
    m->stop_reason = STOP_ERROR;
    s->base.failure = failure;
    s->phase = AT_END;
    http_close(s->call);
    s->call = NULL;
    if (!m->error_message) {
        return error_nomem(&s->error);
    }
    return status ? status : push(s, (struct llm_event){.type = LLM_ERROR});
}

static enum pi_status fail_retryable(struct stream *s, const char *words)
{
    struct buf text = {0};
    buf_addf(&text, "%s %s", buf_cstr(&s->host), words);
    return fail(s, (struct llm_failure){.kind = FAILURE_RETRY}, &text);
}

static enum pi_status succeed(struct stream *s)
{
    s->phase = AT_END;
    s->base.continue_turn = s->answer->continue_turn;
    http_close(s->call);
    s->call = NULL;
    return push(s, (struct llm_event){.type = LLM_DONE});
}

// An error that the server described, with the status of its response (below 300: in the
// middle of an answer).
static enum pi_status fail_told(struct stream *s, int status, struct error_body *told)
{
    struct buf text = {0};
    int code = status >= 300 ? status : told->status;
    struct llm_failure failure =
        refusal_tell(&text, buf_cstr(&s->host), status, told, s->call);
    if ((code == 400 || code == 422) && s->tuning &&
        wire_learn(s->tuning, buf_sv(&told->words))) {
        failure.kind = FAILURE_LEARNT;
    }
    return fail(s, failure, &text);
}

static enum pi_status fail_in_stream(struct stream *s)
{
    struct error_body told = {0};
    error_body_read(&told, buf_sv(&s->answer->error));
    if (told.words.len == 0) {
        buf_adds(&told.words, "(no words)"); // silence means something in a response only
    }
    told.status = s->answer->http_like_status;
    enum pi_status status = fail_told(s, 0, &told);
    error_body_finish(&told);
    return status;
}

/* -- server-sent events -- */

static enum pi_status decode(struct stream *s, struct sv name, struct sv data)
{
    enum pi_status status = s->wire->decode(s->answer, name, data, &s->error);
    return status ? status : push_decoded(s);
}

static bool on_event(void *data, const struct sse_event *event)
{
    struct stream *s = data;
    s->broken = decode(s, event->name, event->data);
    return !s->broken && !s->answer->failed && !s->answer->over;
}

// What the decoder has come to. PI_MORE: it wants more.
static enum pi_status judge(struct stream *s)
{
    if (s->broken) {
        return s->broken;
    }
    if (s->answer->failed) {
        return fail_in_stream(s);
    }
    if (s->answer->over && !s->tail) {
        s->tail = true;
        s->deadline_ms = clock_mono_ms() + BODY_TAIL_MS;
    } else if (s->answer->terminal && s->deadline_ms == 0) {
        s->deadline_ms = clock_mono_ms() + USAGE_TAIL_MS;
    }
    return PI_MORE;
}

static enum pi_status feed(struct stream *s, struct sv bytes)
{
    enum pi_status status = sse_feed(&s->sse, bytes, on_event, s, &s->error);
    if (status == PI_LIMIT) {
        struct buf text = {0};
        buf_addf(&text, "%s: %s", buf_cstr(&s->host), s->error.message);
        return fail(s, (struct llm_failure){.kind = FAILURE_FATAL}, &text);
    }
    return status ? status : judge(s);
}

// After the last byte of the stream, or when it is no longer waited for.
static enum pi_status end_events(struct stream *s)
{
    sse_end(&s->sse, on_event, s);
    enum pi_status status = judge(s);
    if (status != PI_MORE || s->phase == AT_END) {
        return status;
    }
    status = end_decoding(s);
    if (status) {
        return status;
    }
    if (s->answer->failed) {
        return fail_in_stream(s);
    }
    if (s->answer->terminal) {
        return succeed(s);
    }
    return fail_retryable(s, "ended the answer before it was complete");
}

/* -- bodies that are no stream of events -- */

// A whole answer from a server that does not stream.
static enum pi_status take_answer(struct stream *s, struct sv body)
{
    enum pi_status status = decode(s, (struct sv){0}, body);
    status = status ? status : end_decoding(s);
    if (status) {
        return status;
    }
    if (s->answer->failed) {
        return fail_in_stream(s);
    }
    if (s->answer->terminal) {
        return succeed(s);
    }
    struct error_body told = {0};
    struct buf text = {0};
    error_body_read(&told, body);
    buf_addf(&text, "%s sent JSON that is no answer of a model: %s", buf_cstr(&s->host),
             buf_cstr(&told.words));
    error_body_finish(&told);
    return fail(s, (struct llm_failure){.kind = FAILURE_FATAL}, &text);
}

static enum pi_status end_json(struct stream *s)
{
    struct json *tree = NULL;
    struct error_body told = {0};
    enum pi_status status = json_parse(&tree, buf_sv(&s->body), NULL, &s->error);
    if (status == PI_NOMEM) {
        return status;
    }
    if (status) {
        return fail_retryable(s, "sent JSON that is cut off or damaged");
    }
    if (error_body_is_error(tree)) {
        error_body_read_json(&told, tree);
        status = fail_told(s, 0, &told);
    } else {
        s->phase = AT_ANSWER;
        status = push(s, (struct llm_event){.type = LLM_START});
    }
    error_body_finish(&told);
    json_destroy(tree);
    return status;
}

static enum pi_status end_redirect(struct stream *s, int http)
{
    struct buf text = {0};
    refusal_tell_redirect(&text, buf_cstr(&s->host), http,
                          http_header(s->call, "location"));
    return fail(s, (struct llm_failure){.kind = FAILURE_FATAL, .status = http}, &text);
}

// A body that is there as far as it will be.
static enum pi_status end_document(struct stream *s)
{
    int http = http_status(s->call);
    struct error_body told = {0};
    if (http >= 300 && http < 400) {
        return end_redirect(s, http);
    }
    if (http < 300 && s->kind == BODY_JSON) {
        return end_json(s);
    }
    error_body_read(&told, buf_sv(&s->body));
    bool empty = http < 300 && told.words.len == 0;
    enum pi_status status =
        empty ? fail_retryable(s, "sent an empty answer") : fail_told(s, http, &told);
    error_body_finish(&told);
    return status;
}

// The transfer itself broke. An answer that was complete by then stays one.
static enum pi_status transport_failed(struct stream *s, const struct pi_error *why)
{
    struct buf text = {0};
    struct llm_failure failure = {.kind = FAILURE_FATAL};
    if (s->answer->terminal) {
        return end_events(s);
    }
    if (s->phase == AT_DOCUMENT && http_status(s->call) >= 300) {
        return end_document(s); // what has come of it says more than how it ended
    }
    if (http_failure(s->call) != HTTP_PERMANENT) {
        failure.kind = FAILURE_RETRY;
    }
    buf_adds(&text, why->message);
    return fail(s, failure, &text);
}

/* -- the way of the bytes -- */

static enum pi_status add_document(struct stream *s, struct sv bytes)
{
    bool answer = http_status(s->call) < 300 && s->kind == BODY_JSON;
    size_t max = answer ? JSON_BODY_MAX : ERROR_BODY_MAX;
    size_t room = s->body.len < max ? max - s->body.len : 0;
    buf_add(&s->body, bytes.p, bytes.n < room ? bytes.n : room);
    if (!buf_ok(&s->body)) {
        return error_nomem(&s->error);
    }
    return bytes.n > room ? end_document(s) : PI_MORE;
}

// Decides what the body is as soon as that can be known.
static enum pi_status look_at_head(struct stream *s)
{
    int http = http_status(s->call);
    if (http == 0) {
        return PI_MORE;
    }
    s->kind = body_kind_of(http_header(s->call, "content-type"), buf_sv(&s->body));
    if (http >= 300 || (s->kind != BODY_UNKNOWN && s->kind != BODY_EVENTS)) {
        s->phase = AT_DOCUMENT;
        if (http >= 300 || s->kind != BODY_JSON) {
            s->deadline_ms = clock_mono_ms() + ERROR_TAIL_MS;
        }
        struct buf seen = s->body;
        s->body = (struct buf){0};
        enum pi_status status = add_document(s, buf_sv(&seen));
        buf_finish(&seen);
        return status;
    }
    if (s->kind == BODY_UNKNOWN) {
        return s->body.len > ERROR_BODY_MAX ? end_document(s) : PI_MORE;
    }
    s->phase = AT_EVENTS;
    return push(s, (struct llm_event){.type = LLM_START});
}

static enum pi_status take_bytes(struct stream *s, struct buf *bytes)
{
    switch (s->phase) {
    case AT_HEAD:
        buf_addsv(&s->body, buf_sv(bytes));
        return buf_ok(&s->body) ? look_at_head(s) : error_nomem(&s->error);
    case AT_EVENTS:
        return feed(s, buf_sv(bytes));
    case AT_DOCUMENT:
        return add_document(s, buf_sv(bytes));
    case AT_ANSWER:
    case AT_END:
        break;
    }
    return PI_OK;
}

// What waited until the start of the answer was shown: nothing of it may show in there.
static enum pi_status take_waiting(struct stream *s)
{
    struct buf body = s->body;
    s->body = (struct buf){0};
    enum pi_status status =
        s->phase == AT_ANSWER ? take_answer(s, buf_sv(&body)) : feed(s, buf_sv(&body));
    buf_finish(&body);
    return status == PI_MORE ? PI_OK : status;
}

static enum pi_status take_end(struct stream *s)
{
    if (s->phase == AT_HEAD) {
        enum pi_status status = look_at_head(s);
        if (status != PI_MORE || s->phase == AT_END) {
            return status;
        }
    }
    return s->phase == AT_EVENTS ? end_events(s) : end_document(s);
}

/* -- the request -- */

static enum pi_status open_call(struct stream *s)
{
    struct http_request request = {
        .url = buf_cstr(&s->request.url),
        .headers = s->headers.lines,
        .body = buf_sv(&s->request.body),
        .idle_timeout_ms = s->idle_ms,
    };
    return http_open(&s->call, s->http, &request, &s->error);
}

// A kept connection that was dead already is no failure of the server's.
static enum pi_status reopen(struct stream *s)
{
    s->reopened = true;
    http_close(s->call);
    s->call = NULL;
    enum pi_status status = open_call(s);
    return status ? status : PI_MORE;
}

// Moves on by what has arrived. PI_MORE: nothing has.
static enum pi_status advance(struct stream *s)
{
    if (s->phase == AT_ANSWER || (s->phase == AT_EVENTS && s->body.len > 0)) {
        return take_waiting(s);
    }
    struct buf bytes = {0};
    struct pi_error why = {0};
    enum pi_status status = http_read(s->call, &bytes, &why);
    if (status == PI_OK) {
        status = take_bytes(s, &bytes);
        status = status == PI_MORE ? PI_OK : status;
    } else if (status == PI_CLOSED) {
        status = take_end(s);
    } else if (status == PI_MORE) {
        if (s->phase == AT_HEAD) {
            status = look_at_head(s);
        }
        if (s->deadline_ms && clock_mono_ms() >= s->deadline_ms) {
            status = s->phase == AT_EVENTS ? end_events(s) : end_document(s);
        }
    } else if (http_failure(s->call) == HTTP_REUSED && !s->reopened) {
        status = reopen(s);
    } else {
        status = transport_failed(s, &why);
    }
    buf_finish(&bytes);
    return status;
}

static enum pi_status stream_next(struct llm_stream *stream, struct llm_event *event,
                                  int *wait_ms, struct pi_error *err)
{
    struct stream *s = (struct stream *)stream;
    while (!event_queue_pop(&s->queue, event)) {
        if (s->phase == AT_END) {
            return error_set(err, PI_CLOSED, "the answer is at its end");
        }
        enum pi_status status = advance(s);
        if (status == PI_MORE) {
            int64_t left = s->deadline_ms ? s->deadline_ms - clock_mono_ms() : -1;
            *wait_ms = s->deadline_ms && left < 0 ? 0 : (int)left;
            return PI_MORE;
        }
        if (status) {
            return error_set(err, status, "%s", s->error.message);
        }
    }
    return PI_OK;
}

static void stream_close(struct llm_stream *stream)
{
    struct stream *s = (struct stream *)stream;
    if (!s) {
        return;
    }
    http_close(s->call);
    if (s->answer) {
        s->wire->finish(s->answer);
    }
    message_destroy(s->base.message);
    wire_request_finish(&s->request);
    header_list_finish(&s->headers);
    buf_finish(&s->host);
    buf_finish(&s->body);
    sse_finish(&s->sse);
    event_queue_finish(&s->queue);
    free(s);
}

/* -- opening -- */

static void set_idle(struct stream *s, int64_t wanted_ms)
{
    struct url url;
    enum url_reach reach = URL_PUBLIC;
    if (url_parse(&url, buf_sv(&s->request.url))) {
        reach = url_reach(url.host);
        buf_addsv(&s->host, url.host);
    }
    if (wanted_ms != 0) {
        s->idle_ms = wanted_ms > 0 ? wanted_ms : 0;
    } else {
        s->idle_ms = reach == URL_PUBLIC ? IDLE_PUBLIC_MS : IDLE_PRIVATE_MS;
    }
}

// A line break in a key would end its header and begin another one.
static enum pi_status check_key(const char *key, const struct model *model,
                                struct pi_error *err)
{
    for (; key && *key; key++) {
        if ((unsigned char)*key < ' ' || *key == 0x7F) {
            return error_set(err, PI_INVALID,
                             "the key for %s has a line break or another control "
                             "character in it; correct it where it is set",
                             model->provider);
        }
    }
    return PI_OK;
}

static enum pi_status prepare(struct stream *s, const struct model *model,
                              const struct llm_request *request, struct pi_error *err)
{
    const struct wire_input input = {
        .model = model,
        .request = request,
        .api_key = request->api_key,
        .thinking = request->thinking,
        .session_id = request->session_id,
        .tuning = request->tuning ? *request->tuning : (struct wire_tuning){0},
    };
    enum pi_status status = check_key(request->api_key, model, err);
    if (!status) {
        status = s->wire->encode(&s->request, &input, err);
    }
    if (!status) {
        status = s->wire->begin(&s->answer, &input, s->base.message, err);
    }
    if (status) {
        return status;
    }
    set_idle(s, request->idle_timeout_ms);
    s->http = request->http;
    s->tuning = request->tuning;
    bool ok =
        buf_ok(&s->request.url) && buf_ok(&s->request.headers) &&
        buf_ok(&s->request.body) && buf_ok(&s->host) &&
        header_list_build(&s->headers, buf_sv(&s->request.headers), request->headers);
    return ok ? PI_OK : error_nomem(err);
}

static enum pi_status stream_open(struct llm_stream **out, const struct model *model,
                                  const struct llm_request *request, struct pi_error *err)
{
    return stream_open_wire(out, wire_find(model->api), model, request, err);
}

enum pi_status stream_open_wire(struct llm_stream **out, const struct wire *wire,
                                const struct model *model,
                                const struct llm_request *request, struct pi_error *err)
{
    struct stream *s = calloc(1, sizeof *s);
    struct message *m = s ? message_create(ROLE_ASSISTANT) : NULL;
    if (!m || !provider_name_message(m, model)) {
        message_destroy(m);
        free(s);
        return error_nomem(err);
    }
    s->base = (struct llm_stream){.provider = &provider_http, .message = m};
    s->wire = wire;
    enum pi_status status = prepare(s, model, request, err);
    if (!status) {
        status = open_call(s);
        if (status) {
            error_set(err, status, "%s", s->error.message);
        }
    }
    if (status) {
        stream_close(&s->base);
        return status;
    }
    *out = &s->base;
    return PI_OK;
}

const struct provider provider_http = {
    .api = "http",
    .needs_http = true,
    .open = stream_open,
    .next = stream_next,
    .close = stream_close,
};
