// usage: pi-mock --script FILE [--port-file FILE] [--log FILE]
//        pi-mock --proxy PORT [--port-file FILE] [--log FILE]
//        pi-mock --self-test
// A model server for tests, described in mock.md. It listens on a free port of 127.0.0.1,
// writes the port to the port file (else to stdout), and runs until SIGTERM or the end of
// who started it, ten minutes at most.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mock_http.h"
#include "mock_proxy.h"
#include "mock_rules.h"
#include "mock_script.h"
#include "sys/clock.h"

enum { CONNECTIONS_MAX = 4096, LIFETIME_MS = 600 * 1000 };

struct server {
    const char *script_path, *port_path, *log_path;
    struct json *script;
    unsigned short proxy_to; // 0: not a proxy
    int stop_fd, log_fd;
    int64_t start_ms;
    pthread_t threads[CONNECTIONS_MAX];
    size_t threads_len;

    pthread_mutex_t lock; // what is below, and the log
    size_t next_turn, answers;
    struct json *issued;
};

struct connection {
    struct server *server;
    struct peer peer;
    size_t number;
};

/* -- log -- */

static void log_write(struct server *s, struct json *record)
{
    struct buf line = {0};
    json_set_int(record, "t", clock_mono_ms() - s->start_ms);
    json_write(&line, record);
    buf_addc(&line, '\n');
    for (size_t at = 0; s->log_fd >= 0 && at < line.len;) {
        ssize_t n = write(s->log_fd, line.data + at, line.len - at);
        if (n < 0 && errno != EINTR) {
            break;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    buf_finish(&line);
    json_destroy(record);
}

static struct json *record_of(const struct connection *c, const char *event)
{
    struct json *record = json_new_object();
    json_set_str(record, "event", event);
    json_set_int(record, "connection", (int64_t)c->number);
    return record;
}

static struct json *request_record(const struct connection *c,
                                   const struct http_message *m, const struct json *body)
{
    struct json *record = record_of(c, "request");
    json_set_str(record, "method", m->method);
    json_set_str(record, "target", m->target);
    json_set(record, "headers", json_copy(m->headers));
    json_set_int(record, "bytes", (int64_t)m->body.len);
    json_set(record, "body", body ? json_copy(body) : json_new_null());
    return record;
}

/* -- requests to a model -- */

static const char *api_of(const struct http_message *m)
{
    struct sv target = sv_of(m->target);
    bool post = strcmp(m->method, "POST") == 0;
    return post && sv_ends(target, sv_of("/v1/messages"))        ? "anthropic-messages"
           : post && sv_ends(target, sv_of("/chat/completions")) ? "openai-completions"
                                                                 : NULL;
}

/** What becomes of a request. */
struct outcome {
    const struct json *turn; // NULL: refused
    size_t n;                // of the answer
    int status;              // when refused
    struct buf words;
    struct json *broken;
};

static void refuse(struct outcome *o, int status, const char *rule)
{
    struct json *one = json_new_object();
    json_set_str(one, "name", rule);
    json_set_str(one, "message", buf_cstr(&o->words));
    json_push(o->broken, one);
    o->status = status;
    o->turn = NULL;
}

// Takes the next turn, if the request may have it. Locked.
static void decide(struct server *s, const struct rule_request *r, struct outcome *o)
{
    o->broken = rules_check(r);
    const struct json *first = json_first(o->broken);
    if (first) {
        o->status = (int)json_get_num(first, "status", 400);
        buf_adds(&o->words, json_get_str(first, "message"));
        return;
    }
    o->n = s->answers++;
    o->turn = script_turn(s->script, s->next_turn++);
    if (!o->turn) {
        buf_adds(&o->words, "the script has no more turns");
        refuse(o, 400, "no-more-turns");
    } else if (!script_expects(o->turn, r->body, &o->words)) {
        refuse(o, 400, "not-expected");
    }
}

static bool wants_gzip(const struct http_message *m, const struct json *turn)
{
    const char *accepted = json_get_str(m->headers, "accept-encoding");
    return json_get_bool(turn, "gzip", false) && accepted && strstr(accepted, "gzip");
}

// The body of a turn that has one of its own, or a status that is an error.
static void plain_answer(struct answer *out, const char *api, const struct json *turn,
                         int status)
{
    const struct json *body = json_get(turn, "body");
    if (is_string(body)) {
        buf_adds(&out->bytes, json_str(body));
    } else if (body) {
        json_write(&out->bytes, body);
    } else {
        format_error(&out->bytes, api, status, "scripted failure");
    }
    answer_mark(out);
}

static bool send_turn(struct connection *c, const struct http_message *m, const char *api,
                      const struct json *body, const struct outcome *o)
{
    struct server *s = c->server;
    struct answer answer = {0};
    struct transport t = {.turn = o->turn};
    t.status = (int)json_get_num(o->turn, "status", 200);
    bool plain = json_get(o->turn, "body") || t.status >= 300;
    if (plain) {
        plain_answer(&answer, api, o->turn, t.status);
    } else {
        format_answer(&answer, api, o->turn, body, o->n);
        pthread_mutex_lock(&s->lock);
        json_push(s->issued, json_copy(answer.content));
        pthread_mutex_unlock(&s->lock);
    }
    t.content_type =
        answer.stream ? "text/event-stream; charset=utf-8" : "application/json";
    t.gzip = wants_gzip(m, o->turn);
    if (t.gzip) {
        answer_gzip(&answer);
    }
    bool open = peer_answer(&c->peer, &t, &answer);
    struct json *record = record_of(c, c->peer.gone ? "gone" : "answered");
    json_set_int(record, "sent", (int64_t)c->peer.sent);
    pthread_mutex_lock(&s->lock);
    log_write(s, record);
    pthread_mutex_unlock(&s->lock);
    answer_finish(&answer);
    return open;
}

static bool send_json(struct peer *p, int status, struct buf *body)
{
    struct answer answer = {.bytes = *body};
    *body = (struct buf){0};
    answer_mark(&answer);
    struct transport t = {.status = status, .content_type = "application/json"};
    bool open = peer_answer(p, &t, &answer);
    answer_finish(&answer);
    return open;
}

static bool answer_model(struct connection *c, const struct http_message *m,
                         const char *api)
{
    struct server *s = c->server;
    struct json *body = NULL;
    const char *server = json_get_str(s->script, "server");
    struct rule_request r = {
        .api = api,
        .server = server ? server : "compatible",
        .keyless = json_get_bool(s->script, "keyless", false),
        .headers = m->headers,
        .raw = buf_sv(&m->body),
    };
    if (json_parse(&body, r.raw, &r.repairs, NULL) == PI_OK) {
        r.body = body;
    }
    struct outcome o = {0};
    pthread_mutex_lock(&s->lock);
    r.issued = s->issued;
    decide(s, &r, &o);
    struct json *record = request_record(c, m, body);
    json_set(record, "violations", o.broken);
    log_write(s, record);
    pthread_mutex_unlock(&s->lock);
    bool open;
    if (o.turn) {
        open = send_turn(c, m, api, body, &o);
    } else {
        struct buf error = {0};
        format_error(&error, api, o.status, buf_cstr(&o.words));
        open = send_json(&c->peer, o.status, &error);
    }
    buf_finish(&o.words);
    json_destroy(body);
    return open;
}

/* -- other requests -- */

static bool answer_route(struct connection *c, const struct http_message *m)
{
    struct server *s = c->server;
    struct buf key = {0}, body = {0};
    buf_addf(&key, "%s %s", m->method, m->target);
    const struct json *route = json_get(json_get(s->script, "routes"), buf_cstr(&key));
    if (route) {
        json_write(&body, route);
    } else {
        buf_adds(&body, "{\"error\":{\"message\":\"not found\"}}");
    }
    pthread_mutex_lock(&s->lock);
    log_write(s, request_record(c, m, NULL));
    pthread_mutex_unlock(&s->lock);
    buf_finish(&key);
    return send_json(&c->peer, route ? 200 : 404, &body);
}

static void *serve(void *data)
{
    struct connection *c = data;
    struct server *s = c->server;
    const char *accepts = json_get_str(s->script, "accept");
    if (accepts && strcmp(accepts, "silent") == 0) {
        peer_wait(&c->peer, LIFETIME_MS);
    } else {
        struct http_message m = {0};
        for (bool open = true; open && peer_read_request(&c->peer, &m);) {
            const char *api = api_of(&m);
            if (s->proxy_to) {
                pthread_mutex_lock(&s->lock);
                log_write(s, request_record(c, &m, NULL));
                pthread_mutex_unlock(&s->lock);
                proxy_tunnel(&c->peer, &m, s->proxy_to);
                open = false;
            } else {
                open = api ? answer_model(c, &m, api) : answer_route(c, &m);
            }
            http_message_finish(&m);
        }
        http_message_finish(&m);
    }
    peer_finish(&c->peer);
    free(c);
    return NULL;
}

/* -- the program -- */

static void accept_one(struct server *s, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || s->threads_len == CONNECTIONS_MAX) {
        return;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    *c = (struct connection){.server = s, .peer = {.fd = fd, .stop_fd = s->stop_fd}};
    c->number = s->threads_len;
    if (pthread_create(&s->threads[s->threads_len], NULL, serve, c)) {
        close(fd);
        free(c);
        return;
    }
    s->threads_len++;
}

static bool announce(const struct server *s, unsigned short port)
{
    if (!s->port_path) {
        return printf("%u\n", port) > 0 && fflush(stdout) == 0;
    }
    struct buf temporary = {0};
    buf_addf(&temporary, "%s.new", s->port_path);
    FILE *f = fopen(buf_cstr(&temporary), "we");
    bool good = f && fprintf(f, "%u\n", port) > 0;
    good = f && fclose(f) == 0 && good;
    good = good && rename(buf_cstr(&temporary), s->port_path) == 0;
    buf_finish(&temporary);
    return good;
}

// Fills the queue of connections that nobody accepts, so that later ones hang.
static void fill(unsigned short port, int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fds[i] = connect_to(port);
    }
    struct pollfd any = {.fd = fds[0], .events = POLLOUT};
    poll(&any, 1, 1000);
}

static int run(struct server *s, int signals)
{
    unsigned short port = 0;
    const char *accepts = json_get_str(s->script, "accept");
    bool full = accepts && strcmp(accepts, "full") == 0;
    int filling[4] = {-1, -1, -1, -1};
    int listener = listen_on(&port, full ? 0 : 128);
    if (listener >= 0 && full) {
        fill(port, filling, 4);
    }
    if (listener < 0 || !announce(s, port)) {
        perror("pi-mock");
        return 1;
    }
    int64_t end_ms = s->start_ms + LIFETIME_MS;
    for (bool on = true; on;) {
        struct pollfd fds[2] = {{.fd = signals, .events = POLLIN},
                                {.fd = full ? -1 : listener, .events = POLLIN}};
        int left_ms = (int)(end_ms - clock_mono_ms());
        on = poll(fds, 2, left_ms > 0 ? left_ms : 0) > 0 && !fds[0].revents;
        if (on) {
            accept_one(s, listener);
        }
    }
    eventfd_write(s->stop_fd, 1);
    for (size_t i = 0; i < s->threads_len; i++) {
        pthread_join(s->threads[i], NULL);
    }
    close(listener);
    for (size_t i = 0; i < 4; i++) {
        if (filling[i] >= 0) {
            close(filling[i]);
        }
    }
    return 0;
}

static bool parse(struct server *s, int argc, char **argv)
{
    static const struct option options[] = {{"script", required_argument, NULL, 's'},
                                            {"proxy", required_argument, NULL, 'x'},
                                            {"port-file", required_argument, NULL, 'p'},
                                            {"log", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 's':
            s->script_path = optarg;
            break;
        case 'x':
            s->proxy_to = (unsigned short)strtoul(optarg, NULL, 10);
            break;
        case 'p':
            s->port_path = optarg;
            break;
        case 'l':
            s->log_path = optarg;
            break;
        default:
            return false;
        }
    }
    return optind == argc && (s->script_path != NULL) != (s->proxy_to != 0);
}

static int start(struct server *s)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    s->stop_fd = eventfd(0, EFD_CLOEXEC);
    s->log_fd = -1;
    if (s->log_path) {
        s->log_fd = open(s->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (signal_fd < 0 || s->stop_fd < 0 || (s->log_path && s->log_fd < 0)) {
        perror("pi-mock");
        return 1;
    }
    s->start_ms = clock_mono_ms();
    int result = run(s, signal_fd);
    close(signal_fd);
    close(s->stop_fd);
    if (s->log_fd >= 0) {
        close(s->log_fd);
    }
    return result;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0) {
        return rules_self_test() ? 0 : 1;
    }
    static struct server s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    if (!parse(&s, argc, argv)) {
        fputs("usage: pi-mock --script FILE | --proxy PORT, [--port-file FILE] [--log "
              "FILE]\n"
              "       pi-mock --self-test\n",
              stderr);
        return 2;
    }
    s.script = s.script_path ? script_load(s.script_path) : NULL;
    if (s.script_path && !s.script) {
        return 1;
    }
    const struct json *issued = json_get(s.script, "issued");
    s.issued = issued ? json_copy(issued) : json_new_array();
    int result = start(&s);
    json_destroy(s.script);
    json_destroy(s.issued);
    return result;
}
