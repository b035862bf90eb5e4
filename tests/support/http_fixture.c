#include "http_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096, QUIET_S = 15 };

struct connection {
    struct fixture *fixture;
    pthread_t thread;
    int fd;
};

struct fixture {
    int listener;
    unsigned port;
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t quiet;
    struct fixture_reply replies[FIXTURE_REPLIES];
    size_t replies_len, next;
    unsigned busy; // connections that are replying
    size_t requests, accepted;
    struct buf last;
    struct connection *connections[CONNECTIONS_MAX];
    size_t connections_len;
};

static bool next_reply(struct fixture *f, struct fixture_reply *out)
{
    pthread_mutex_lock(&f->lock);
    bool any = f->replies_len > 0;
    if (any) {
        *out = f->replies[f->next];
        f->next += f->next + 1 < f->replies_len;
        f->busy++;
    }
    pthread_mutex_unlock(&f->lock);
    return any;
}

static bool next_without_reading(struct fixture *f)
{
    pthread_mutex_lock(&f->lock);
    bool yes = f->replies_len > 0 && f->replies[f->next].no_reading;
    pthread_mutex_unlock(&f->lock);
    return yes;
}

// Waits for bytes; false when the test is over.
static bool readable(struct connection *c)
{
    while (!atomic_load(&c->fixture->stop)) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, 20) > 0) {
            return true;
        }
    }
    return false;
}

static size_t body_length(const char *head)
{
    const char *at = strcasestr(head, "\r\ncontent-length:");
    return at ? strtoul(at + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

static bool read_request(struct connection *c)
{
    struct buf request = {0};
    size_t want = 0;
    while (want == 0 || request.len < want) {
        char bytes[16384];
        ssize_t n = readable(c) ? recv(c->fd, bytes, sizeof bytes, 0) : 0;
        if (n <= 0) {
            buf_finish(&request);
            return false;
        }
        buf_add(&request, bytes, (size_t)n);
        const char *end = strstr(request.data, "\r\n\r\n");
        if (end && want == 0) {
            want = (size_t)(end + 4 - request.data) + body_length(request.data);
        }
    }
    struct fixture *f = c->fixture;
    pthread_mutex_lock(&f->lock);
    f->requests++;
    buf_finish(&f->last);
    f->last = request;
    pthread_mutex_unlock(&f->lock);
    return true;
}

static void pause_us(struct connection *c, unsigned us)
{
    for (; us > 20000 && !atomic_load(&c->fixture->stop); us -= 20000) {
        usleep(20000);
    }
    usleep(us);
}

static bool write_once(struct connection *c, const struct fixture_reply *r,
                       struct sv bytes)
{
    for (struct sv rest = bytes; rest.n > 0;) {
        size_t n = r->split && r->split < rest.n ? r->split : rest.n;
        ssize_t sent = send(c->fd, rest.p, n, MSG_NOSIGNAL);
        if (sent <= 0 || atomic_load(&c->fixture->stop)) {
            return false;
        }
        rest = sv_from(rest, (size_t)sent);
        if (r->between_us && rest.n > 0) {
            pause_us(c, r->between_us);
        }
    }
    return true;
}

static void stall(struct connection *c)
{
    char bytes[4096];
    while (readable(c) && recv(c->fd, bytes, sizeof bytes, 0) > 0) {
    }
}

static bool send_reply(struct connection *c, const struct fixture_reply *reply)
{
    struct fixture_reply r = *reply;
    pause_us(c, r.before_ms * 1000);
    bool alive = write_once(c, &r, r.bytes);
    while (alive && r.again.n > 0) {
        alive = write_once(c, &r, r.again);
        if (r.between_us) {
            pause_us(c, r.between_us);
        }
    }
    if (r.end == FIXTURE_STALL) {
        stall(c);
    } else if (r.end == FIXTURE_RESET) {
        struct linger hard = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    return alive && r.end == FIXTURE_KEEP;
}

static bool reply(struct connection *c)
{
    struct fixture *f = c->fixture;
    struct fixture_reply r = {0};
    if (!next_reply(f, &r)) {
        return false;
    }
    bool alive = send_reply(c, &r);
    pthread_mutex_lock(&f->lock);
    f->busy--;
    pthread_cond_broadcast(&f->quiet);
    pthread_mutex_unlock(&f->lock);
    return alive;
}

static void *serve(void *data)
{
    struct connection *c = data;
    while ((next_without_reading(c->fixture) || read_request(c)) && reply(c)) {
    }
    close(c->fd);
    return NULL;
}

static void take_connection(struct fixture *f, int fd)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c || f->connections_len == CONNECTIONS_MAX) {
        abort();
    }
    *c = (struct connection){.fixture = f, .fd = fd};
    pthread_mutex_lock(&f->lock);
    f->accepted++;
    pthread_mutex_unlock(&f->lock);
    if (pthread_create(&c->thread, NULL, serve, c) != 0) {
        abort();
    }
    f->connections[f->connections_len++] = c;
}

static void *accept_all(void *data)
{
    struct fixture *f = data;
    while (!atomic_load(&f->stop)) {
        struct pollfd p = {.fd = f->listener, .events = POLLIN};
        int ready = poll(&p, 1, 20);
        int fd = ready > 0 ? accept4(f->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0) {
            take_connection(f, fd);
        }
    }
    return NULL;
}

struct fixture *fixture_start(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    if (!f) {
        abort();
    }
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->quiet, NULL);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (f->listener < 0 || bind(f->listener, (struct sockaddr *)&address, len) != 0 ||
        listen(f->listener, 64) != 0 ||
        getsockname(f->listener, (struct sockaddr *)&address, &len) != 0 ||
        pthread_create(&f->thread, NULL, accept_all, f) != 0) {
        abort();
    }
    f->port = ntohs(address.sin_port);
    return f;
}

void fixture_stop(struct fixture *f)
{
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    for (size_t i = 0; i < f->connections_len; i++) {
        pthread_join(f->connections[i]->thread, NULL);
        free(f->connections[i]);
    }
    close(f->listener);
    buf_finish(&f->last);
    pthread_cond_destroy(&f->quiet);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

unsigned fixture_port(const struct fixture *f)
{
    return f->port;
}

void fixture_replies(struct fixture *f, const struct fixture_reply *replies, size_t n)
{
    pthread_mutex_lock(&f->lock);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += QUIET_S;
    while (f->busy > 0) {
        if (pthread_cond_timedwait(&f->quiet, &f->lock, &limit) != 0) {
            abort(); // a client that failed its test has not closed
        }
    }
    for (size_t i = 0; i < n; i++) {
        f->replies[i] = replies[i];
    }
    f->replies_len = n;
    f->next = f->requests = f->accepted = 0;
    pthread_mutex_unlock(&f->lock);
}

static size_t locked(struct fixture *f, const size_t *value)
{
    pthread_mutex_lock(&f->lock);
    size_t n = *value;
    pthread_mutex_unlock(&f->lock);
    return n;
}

size_t fixture_requests(struct fixture *f)
{
    return locked(f, &f->requests);
}

size_t fixture_connections(struct fixture *f)
{
    return locked(f, &f->accepted);
}

void fixture_last_request(struct fixture *f, struct buf *out)
{
    pthread_mutex_lock(&f->lock);
    buf_addsv(out, buf_sv(&f->last));
    pthread_mutex_unlock(&f->lock);
}
