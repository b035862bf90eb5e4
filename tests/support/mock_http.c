#include "mock_http.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 1024 * 1024, BODY_MAX = 256 * 1024 * 1024 };

void peer_finish(struct peer *p)
{
    close(p->fd);
    buf_finish(&p->in);
}

void http_message_finish(struct http_message *m)
{
    free(m->method);
    free(m->target);
    json_destroy(m->headers);
    buf_finish(&m->body);
    *m = (struct http_message){0};
}

/* -- reading -- */

// Takes what has come; false when nothing will come any more.
static bool receive(struct peer *p)
{
    struct pollfd fds[2] = {{.fd = p->fd, .events = POLLIN},
                            {.fd = p->stop_fd, .events = POLLIN}};
    if (poll(fds, 2, -1) < 0) {
        return errno == EINTR;
    }
    char piece[65536];
    ssize_t n = fds[1].revents ? 0 : recv(p->fd, piece, sizeof piece, 0);
    p->gone = n <= 0;
    buf_add(&p->in, piece, n > 0 ? (size_t)n : 0);
    return !p->gone;
}

static bool receive_at_least(struct peer *p, size_t n)
{
    while (p->in.len < n) {
        if (!receive(p)) {
            return false;
        }
    }
    return true;
}

// The end of the first line from `from` on, behind its LF; 0 when the client is gone.
static size_t receive_line(struct peer *p, size_t from)
{
    size_t seen = from;
    for (;;) {
        const char *lf =
            p->in.len > seen ? memchr(p->in.data + seen, '\n', p->in.len - seen) : NULL;
        if (lf) {
            return (size_t)(lf - p->in.data) + 1;
        }
        seen = p->in.len;
        if (seen > HEAD_MAX || !receive(p)) {
            return 0;
        }
    }
}

static void add_header(struct http_message *out, struct sv line)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    if (!colon) {
        return;
    }
    struct buf name = {0}, value = {0};
    for (const char *c = line.p; c < colon; c++) {
        buf_addc(&name, (char)tolower((unsigned char)*c));
    }
    struct sv rest = sv_from(line, (size_t)(colon - line.p) + 1);
    while (rest.n && (rest.p[0] == ' ' || rest.p[0] == '\t')) {
        rest = sv_from(rest, 1);
    }
    while (rest.n && isspace((unsigned char)rest.p[rest.n - 1])) {
        rest.n--;
    }
    buf_addsv(&value, rest);
    json_set_str(out->headers, buf_cstr(&name), buf_cstr(&value));
    buf_finish(&name);
    buf_finish(&value);
}

static bool read_chunks(struct peer *p, struct buf *body)
{
    for (;;) {
        size_t end = receive_line(p, 0);
        size_t n = end ? strtoul(p->in.data, NULL, 16) : 0;
        if (!end || n > BODY_MAX || !receive_at_least(p, end + n + 2)) {
            return false;
        }
        buf_add(body, p->in.data + end, n);
        buf_drop(&p->in, end + n + 2);
        if (n == 0) {
            return true;
        }
    }
}

static bool read_body(struct peer *p, struct http_message *out)
{
    if (json_get_str(out->headers, "expect")) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        peer_send(p, go_on, sizeof go_on - 1);
    }
    if (json_get_str(out->headers, "transfer-encoding")) {
        return read_chunks(p, &out->body);
    }
    const char *length = json_get_str(out->headers, "content-length");
    size_t n = length ? strtoul(length, NULL, 10) : 0;
    if (n > BODY_MAX || !receive_at_least(p, n)) {
        return false;
    }
    buf_add(&out->body, p->in.data, n);
    buf_drop(&p->in, n);
    return true;
}

bool peer_read_request(struct peer *p, struct http_message *out)
{
    *out = (struct http_message){.headers = json_new_object()};
    size_t end = receive_line(p, 0);
    char *line = end ? strndup(p->in.data, end) : NULL;
    char *target = line ? strchr(line, ' ') : NULL;
    char *version = target ? strchr(target + 1, ' ') : NULL;
    if (version && strncmp(version + 1, "HTTP/1.", 7) == 0) {
        out->method = strndup(line, (size_t)(target - line));
        out->target = strndup(target + 1, (size_t)(version - target) - 1);
    }
    free(line);
    for (size_t from = end; out->method && (end = receive_line(p, from)); from = end) {
        struct sv header = sv_sub(buf_sv(&p->in), from, end - from);
        if (header.n <= 2 && (header.p[0] == '\r' || header.p[0] == '\n')) {
            buf_drop(&p->in, end);
            return read_body(p, out);
        }
        add_header(out, header);
    }
    return false;
}

/* -- sending -- */

bool peer_send(struct peer *p, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0 && !p->gone) {
        struct pollfd fds[2] = {{.fd = p->fd, .events = POLLOUT},
                                {.fd = p->stop_fd, .events = POLLIN}};
        poll(fds, 2, -1);
        ssize_t done =
            fds[1].revents ? -1 : send(p->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        bool again = done < 0 && !fds[1].revents && (errno == EAGAIN || errno == EINTR);
        p->gone = done < 0 && !again;
        at += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return !p->gone;
}

bool peer_wait(struct peer *p, int ms)
{
    struct pollfd fds[2] = {{.fd = p->fd, .events = POLLRDHUP},
                            {.fd = p->stop_fd, .events = POLLIN}};
    if (ms > 0 && poll(fds, 2, ms) > 0) {
        p->gone = true;
    }
    return !p->gone;
}

static int number(const struct transport *t, const char *key, int otherwise)
{
    return (int)json_get_num(t->turn, key, otherwise);
}

static const char *framing(const struct transport *t, const struct answer *a)
{
    const char *given = json_get_str(t->turn, "framing");
    return given ? given : a->stream ? "chunked" : "length";
}

static bool closes(const struct transport *t, const struct answer *a)
{
    return json_get_bool(t->turn, "close", false) || strcmp(framing(t, a), "close") == 0;
}

static bool send_fill(struct peer *p, double bytes)
{
    char line[1024];
    memset(line, 'x', sizeof line);
    for (size_t i = 0; bytes > 0; bytes -= sizeof line, i++) {
        struct buf start = {0};
        buf_addf(&start, "X-Fill-%zu: ", i);
        memcpy(line, start.data, start.len);
        buf_finish(&start);
        line[sizeof line - 2] = '\r';
        line[sizeof line - 1] = '\n';
        if (!peer_send(p, line, sizeof line)) {
            return false;
        }
    }
    return true;
}

static bool send_head(struct peer *p, const struct transport *t, const struct answer *a)
{
    struct buf head = {0};
    buf_addf(&head, "HTTP/1.1 %d Status\r\n", t->status);
    const struct json *headers = json_get(t->turn, "headers");
    if (!json_get(headers, "content-type")) {
        buf_addf(&head, "content-type: %s\r\n", t->content_type);
    }
    for (const struct json *j = json_first(headers); j; j = json_next(j)) {
        buf_addf(&head, "%s: %s\r\n", json_key(j), json_str(j));
    }
    if (t->gzip) {
        buf_adds(&head, "Content-Encoding: gzip\r\n");
    }
    if (strcmp(framing(t, a), "chunked") == 0) {
        buf_adds(&head, "Transfer-Encoding: chunked\r\n");
    } else if (strcmp(framing(t, a), "length") == 0) {
        buf_addf(&head, "Content-Length: %zu\r\n", a->bytes.len);
    }
    buf_adds(&head, closes(t, a) ? "Connection: close\r\n" : "");
    bool sent = peer_send(p, head.data, head.len) &&
                send_fill(p, json_get_num(t->turn, "headerBytes", 0)) &&
                peer_send(p, "\r\n", 2);
    buf_finish(&head);
    return sent;
}

static bool send_piece(struct peer *p, const struct transport *t, const struct answer *a,
                       size_t from, size_t n)
{
    bool chunked = strcmp(framing(t, a), "chunked") == 0;
    struct buf out = {0};
    if (chunked) {
        buf_addf(&out, "%zx\r\n", n);
    }
    buf_add(&out, a->bytes.data + from, n);
    buf_adds(&out, chunked ? "\r\n" : "");
    bool sent = peer_send(p, out.data, out.len);
    buf_finish(&out);
    p->sent += n;
    return sent;
}

// Where the answer is cut: at an event or a byte, counted from the end when negative.
static size_t cut_at(const struct transport *t, const struct answer *a)
{
    const struct json *cut = json_get(t->turn, "cut");
    double bytes = json_get_num(cut, "bytes", (double)a->bytes.len);
    double events = json_get_num(cut, "events", (double)a->len);
    bytes = bytes < 0 ? bytes + (double)a->bytes.len : bytes;
    events = events < 0 ? events + (double)a->len : events;
    size_t end = a->bytes.len;
    if (json_get(cut, "events") && events < (double)a->len) {
        end = events < 1 ? 0 : a->ends[(size_t)events - 1];
    }
    return bytes >= 0 && (size_t)bytes < end ? (size_t)bytes : end;
}

static bool send_body(struct peer *p, const struct transport *t, const struct answer *a)
{
    size_t end = cut_at(t, a);
    size_t split = (size_t)number(t, "split", 0);
    int pause_ms = number(t, "chunkDelayMs", 0), stall = number(t, "stallAfter", -1);
    size_t stall_at = (size_t)number(t, "stallBytes", 0);
    bool by_event = pause_ms > 0 || stall >= 0;
    size_t at = 0, event = 0;
    if (stall == 0 && !peer_wait(p, number(t, "stallMs", 0))) {
        return false;
    }
    while (at < end) {
        size_t n = end - at < 65536 ? end - at : 65536;
        n = split && split < n ? split : n;
        n = at < stall_at && stall_at - at < n ? stall_at - at : n;
        n = by_event && event < a->len && a->ends[event] - at < n ? a->ends[event] - at
                                                                  : n;
        if (!send_piece(p, t, a, at, n)) {
            return false;
        }
        at += n;
        if (at == stall_at && !peer_wait(p, number(t, "stallMs", 0))) {
            return false;
        }
        if (by_event && event < a->len && at == a->ends[event]) {
            event++;
            int ms = (int)event == stall ? number(t, "stallMs", 0) : pause_ms;
            if (!peer_wait(p, ms)) {
                return false;
            }
        }
    }
    return true;
}

static void reset(struct peer *p)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool peer_answer(struct peer *p, const struct transport *t, const struct answer *a)
{
    p->sent = 0;
    const char *drop = json_get_str(t->turn, "drop");
    const char *how = json_get_str(json_get(t->turn, "cut"), "how");
    if (!peer_wait(p, number(t, "delayMs", 0))) {
        return false;
    }
    if (drop) {
        if (strcmp(drop, "reset") == 0) {
            reset(p);
        }
        return false;
    }
    if (!send_head(p, t, a) || !send_body(p, t, a)) {
        return false;
    }
    if (how && strcmp(how, "reset") == 0) {
        // The bytes are to arrive before the reset does.
        peer_wait(p, 100);
        reset(p);
    }
    if (how && strcmp(how, "clean") != 0) {
        return false;
    }
    if (strcmp(framing(t, a), "chunked") == 0 && !peer_send(p, "0\r\n\r\n", 5)) {
        return false;
    }
    return !closes(t, a) && !json_get_bool(t->turn, "hangUp", false);
}
