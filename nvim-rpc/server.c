#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "methods.h"
#include "params.h"

enum {
    BATCH_BYTES = 64 * 1024,
    BATCH_MS = 8,
    BETWEEN_BATCHES_MS = 16,
    BLOCKED_MS = 100, // after Neovim said that it waits for the user
};

enum message_type { REQUEST = 0, RESPONSE = 1, NOTIFICATION = 2 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum pi_status server_init(struct server *s, int in, int out, struct pi_error *err)
{
    *s = (struct server){0};
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0) {
        return error_errno(err, errno, "no descriptor to be woken by");
    }
    channel_init(&s->channel, in, out);
    return PI_OK;
}

void server_finish(struct server *s)
{
    pi_agent_destroy(s->agent);
    channel_finish(&s->channel);
    buf_finish(&s->items);
    close(s->wake_fd);
}

void server_add_item(struct server *s, struct pack *item)
{
    pack_init(item, &s->items, SERVER_ITEM_BASE);
    s->items_len++;
    s->mail = true;
}

void server_add_error(struct server *s, const char *text)
{
    struct pack item;
    server_add_item(s, &item);
    pack_array(&item, 2);
    pack_text(&item, sv_of("error"));
    pack_text(&item, sv_of(text));
}

void server_woken(struct server *s)
{
    uint64_t count;
    ssize_t ignored = read(s->wake_fd, &count, sizeof count);
    (void)ignored;
    s->mail = true;
}

/* -- to Neovim -- */

static void send_request(struct server *s, enum server_flight flight, const char *method,
                         const struct buf *params)
{
    struct buf message = {0};
    struct pack p;
    pack_init(&p, &message, 0);
    pack_array(&p, 4);
    pack_number(&p, REQUEST);
    pack_number(&p, ++s->flight_id);
    pack_text(&p, sv_of(method));
    pack_packed(&p, params, 1);
    s->flight = channel_send(&s->channel, &message) ? flight : FLIGHT_NONE;
    buf_finish(&message);
}

static void send_probe(struct server *s)
{
    struct buf params = {0};
    struct pack p;
    pack_init(&p, &params, 1);
    pack_array(&p, 0);
    send_request(s, FLIGHT_PROBE, "nvim_get_mode", &params);
    buf_finish(&params);
}

static void send_batch(struct server *s)
{
    struct buf params = {0};
    struct pack p;
    pack_init(&p, &params, 1);
    pack_array(&p, 2);
    pack_text(&p, sv_of("return require('pi.rpc').on(...)"));
    pack_array(&p, 2);
    pack_number(&p, s->connection);
    pack_array(&p, s->items_len);
    pack_packed(&p, &s->items, s->items_len);
    send_request(s, FLIGHT_BATCH, "nvim_exec_lua", &params);
    if (s->flight != FLIGHT_BATCH) {
        fprintf(stderr, "pi-nvim: a batch was lost: out of memory, or too deep\n");
    }
    buf_finish(&params);
    buf_clear(&s->items);
    s->items_len = 0;
}

static void on_event(void *data, const pi_event *event)
{
    struct server *s = data;
    struct pack item;
    size_t len;
    const char *json = pi_event_brief_json(event, &len);
    if (json) {
        server_add_item(s, &item);
        pack_array(&item, 2);
        pack_text(&item, sv_of("event"));
        pack_text(&item, sv_make(json, len));
    }
}

static void start_batch(struct server *s)
{
    static const struct pi_budget budget = {.bytes = BATCH_BYTES, .time_ms = BATCH_MS};
    bool more = false;
    if (s->agent) {
        more = pi_agent_dispatch(s->agent, &budget, on_event, s) == PI_MORE;
    }
    s->mail = more;
    if (s->items_len > 0) {
        send_batch(s);
        s->next_ms = now_ms() + BETWEEN_BATCHES_MS;
    }
}

void server_step(struct server *s)
{
    if (s->mail && s->flight == FLIGHT_NONE && now_ms() >= s->next_ms) {
        send_probe(s);
    }
}

int server_timeout_ms(const struct server *s)
{
    if (!s->mail || s->flight != FLIGHT_NONE) {
        return -1;
    }
    int64_t left = s->next_ms - now_ms();
    return left > 0 ? (int)left : 0;
}

/* -- from Neovim -- */

static bool says_blocking(const msgpack_object *mode)
{
    if (mode->type != MSGPACK_OBJECT_MAP) {
        return false;
    }
    for (uint32_t i = 0; i < mode->via.map.size; i++) {
        const msgpack_object_kv *pair = &mode->via.map.ptr[i];
        if (pair->key.type == MSGPACK_OBJECT_STR &&
            sv_eqs(sv_make(pair->key.via.str.ptr, pair->key.via.str.size), "blocking")) {
            return pair->val.type == MSGPACK_OBJECT_BOOLEAN && pair->val.via.boolean;
        }
    }
    return false;
}

// The message of an error that Neovim answered with, [type, message].
static void print_error(const msgpack_object *error)
{
    if (error->type == MSGPACK_OBJECT_ARRAY && error->via.array.size == 2) {
        error = &error->via.array.ptr[1];
    }
    if (error->type == MSGPACK_OBJECT_STR) {
        fprintf(stderr, "pi-nvim: Neovim answers: %.*s\n", (int)error->via.str.size,
                error->via.str.ptr);
    }
}

static void take_response(struct server *s, const msgpack_object *m)
{
    if (m[1].type != MSGPACK_OBJECT_POSITIVE_INTEGER || m[1].via.u64 != s->flight_id ||
        s->flight == FLIGHT_NONE) {
        return;
    }
    enum server_flight flight = s->flight;
    s->flight = FLIGHT_NONE;
    if (m[2].type != MSGPACK_OBJECT_NIL) {
        print_error(&m[2]);
    }
    if (flight == FLIGHT_PROBE && says_blocking(&m[3])) {
        s->next_ms = now_ms() + BLOCKED_MS;
    } else if (flight == FLIGHT_PROBE) {
        start_batch(s);
    }
}

static void send_response(struct server *s, uint64_t id, const char *error,
                          const struct buf *result)
{
    struct buf message = {0};
    struct pack p;
    pack_init(&p, &message, 0);
    pack_array(&p, 4);
    pack_number(&p, RESPONSE);
    pack_number(&p, id);
    if (error) {
        pack_text(&p, sv_of(error));
    } else {
        pack_nil(&p);
    }
    if (!error && result->len > 0) {
        pack_packed(&p, result, 1);
    } else {
        pack_nil(&p);
    }
    if (!channel_send(&s->channel, &message)) {
        s->over = true; // Neovim would wait for ever
    }
    buf_finish(&message);
}

// A notification is never answered as such: Neovim closes the channel then.
static void answer_later(struct server *s, uint64_t seq, const char *error,
                         const struct buf *result)
{
    struct pack item;
    server_add_item(s, &item);
    pack_array(&item, 4);
    pack_text(&item, sv_of("answer"));
    pack_number(&item, seq);
    pack_text(&item, sv_of(error ? error : ""));
    if (!error && result->len > 0) {
        pack_packed(&item, result, 1);
    } else {
        pack_nil(&item);
    }
}

static void call_method(struct server *s, const msgpack_object *method,
                        const msgpack_object *params, const uint64_t *id)
{
    struct pi_error err = {0};
    struct buf result = {0};
    struct pack p;
    struct param_envelope e = params_envelope(params);
    s->connection = e.connection ? e.connection : s->connection;
    pack_init(&p, &result, id ? 1 : SERVER_ITEM_BASE + 1);
    enum pi_status status = methods_call(s, method, params, &p, &err);
    const char *error = status ? err.message : NULL;
    if (id) {
        send_response(s, *id, error, &result);
    } else if (e.seq) {
        answer_later(s, e.seq, error, &result);
    } else if (error) {
        server_add_error(s, error);
    }
    buf_finish(&result);
}

void server_message(void *data, const msgpack_object *message)
{
    struct server *s = data;
    const msgpack_object *m = message->via.array.ptr;
    uint32_t n = message->type == MSGPACK_OBJECT_ARRAY ? message->via.array.size : 0;
    uint64_t type =
        n > 0 && m[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER ? m[0].via.u64 : UINT64_MAX;
    if (type == RESPONSE && n == 4) {
        take_response(s, m);
    } else if (type == NOTIFICATION && n == 3) {
        call_method(s, &m[1], &m[2], NULL);
    } else if (type == REQUEST && n == 4 &&
               m[1].type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        call_method(s, &m[2], &m[3], &m[1].via.u64);
    } else {
        s->failed = s->over = true;
    }
}
