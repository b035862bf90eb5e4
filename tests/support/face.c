#include "face.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

static void wake(void *data)
{
    struct face *f = data;
    uint64_t one = 1;
    ssize_t ignored = write(f->wake_fd, &one, sizeof one);
    (void)ignored;
}

static void on_event(void *data, const pi_event *event)
{
    struct face *f = data;
    size_t n = 0;
    const char *text = pi_event_json(event, &n);
    struct json *parsed = NULL;
    if (!text || json_parse(&parsed, sv_make(text, n), NULL, NULL)) {
        return;
    }
    if (f->reenter && pi_agent_dispatch(f->agent, NULL, on_event, f) == PI_BUSY) {
        atomic_fetch_add(&f->busy_answers, 1);
    }
    if (f->destroy_inside) {
        f->destroy_inside = false;
        while (!atomic_load(&f->all_sent)) {
            usleep(1000);
        }
        pi_agent_destroy(f->agent);
    }
    pthread_mutex_lock(&f->lock);
    void *grown = vec_grow(f->events, &f->cap, f->len + 1, sizeof *f->events);
    if (grown) {
        f->events = grown;
        f->events[f->len++] = parsed;
    }
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(&f->lock);
}

static void apply(struct fake_host *h, const struct pi_host_request *r)
{
    struct buf text = {0};
    size_t at = 0;
    for (size_t i = 0; i < r->changes_len; i++) {
        const struct pi_change *c = &r->changes[i];
        buf_add(&text, buf_cstr(&h->text) + at, c->offset - at);
        buf_add(&text, c->text, c->text_len);
        at = c->offset + c->length;
    }
    buf_addsv(&text, sv_from(buf_sv(&h->text), at));
    buf_finish(&h->text);
    h->text = text;
    h->version++;
}

static void answer_ok(struct face *f, uint64_t id, enum pi_host_op op)
{
    struct fake_host *h = f->host;
    struct pi_host_answer a = {.status = PI_OK, .version = h->version, .unsaved = true};
    if (op == PI_HOST_CALL_TOOL) {
        a.text = h->called;
        a.text_len = strlen(h->called);
        pi_agent_answer_host(f->agent, id, &a);
        return;
    }
    if (op != PI_HOST_APPLY) {
        a.text = buf_cstr(&h->text);
        a.text_len = h->text.len;
    }
    pi_agent_answer_host(f->agent, id, &a);
}

static void answer_failed(struct face *f, uint64_t id, enum pi_status status)
{
    struct pi_host_answer a = {.status = status, .message = "the fake editor says no"};
    pi_agent_answer_host(f->agent, id, &a);
}

static void on_request(void *data, const struct pi_host_request *r)
{
    struct face *f = data;
    struct fake_host *h = f->host;
    if (r->op == PI_HOST_CALL_TOOL || r->op == PI_HOST_BEFORE_COMMAND) {
        snprintf(h->called, sizeof h->called, "%s(%.*s)", r->tool ? r->tool : "command",
                 (int)r->arguments_len, r->arguments);
    }
    atomic_fetch_add(&h->requests, 1);
    enum fake_answer how =
        h->answers_len ? h->answers[h->next++ % h->answers_len] : FAKE_OK;
    bool stale = r->op == PI_HOST_APPLY && r->version != h->version;
    if (how == FAKE_STALE || stale) {
        answer_failed(f, r->id, r->op == PI_HOST_APPLY ? PI_STALE : PI_IO);
        return;
    }
    switch (how) {
    case FAKE_NOT_OPEN:
        answer_failed(f, r->id, PI_HOST_NOT_OPEN);
        return;
    case FAKE_CONFLICT:
        answer_failed(f, r->id, PI_CONFLICT);
        return;
    case FAKE_IO:
        answer_failed(f, r->id, PI_IO);
        return;
    case FAKE_NEVER:
        return;
    default:
        break;
    }
    if (r->op == PI_HOST_APPLY) {
        apply(h, r);
        atomic_fetch_add(&h->applied, 1);
    }
    if (how == FAKE_LATE && h->late_len < FAKE_LATE_MAX) {
        h->late_ops[h->late_len] = r->op;
        h->late_ids[h->late_len++] = r->id;
        return;
    }
    answer_ok(f, r->id, r->op);
    if (how == FAKE_TWICE) {
        answer_ok(f, r->id, r->op);
    }
}

static void on_withdraw(void *data, uint64_t id)
{
    struct face *f = data;
    (void)id;
    atomic_fetch_add(&f->host->withdrawn, 1);
}

static const struct pi_host fake_host = {.request = on_request, .withdraw = on_withdraw};

static void answer_late(struct face *f)
{
    struct fake_host *h = f->host;
    if (!h || h->late_len == 0) {
        return;
    }
    usleep(h->late_us);
    for (size_t i = 0; i < h->late_len; i++) {
        answer_ok(f, h->late_ids[i], h->late_ops[i]);
    }
    h->late_len = 0;
}

static void *face_main(void *data)
{
    struct face *f = data;
    while (!atomic_load(&f->stop)) {
        struct pollfd p = {.fd = f->wake_fd, .events = POLLIN};
        poll(&p, 1, 200);
        uint64_t count;
        ssize_t ignored = read(f->wake_fd, &count, sizeof count);
        (void)ignored;
        enum pi_status status = PI_MORE;
        while (status == PI_MORE && !atomic_load(&f->stop)) {
            status = pi_agent_dispatch(f->agent, &f->budget, on_event, f);
            if (status == PI_CLOSED) {
                atomic_store(&f->destroyed, true);
                return NULL;
            }
            if (f->slow_us) {
                usleep(f->slow_us);
            }
            answer_late(f);
        }
    }
    pi_agent_destroy(f->agent);
    atomic_store(&f->destroyed, true);
    return NULL;
}

bool face_start(struct face *f, struct pi_agent_options *options, struct pi_error *err)
{
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->news, NULL);
    f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    options->wake = wake;
    options->wake_data = f;
    if (f->host) {
        options->host = &fake_host;
        options->host_data = f;
    }
    if (pi_agent_create(&f->agent, options, err)) {
        close(f->wake_fd);
        return false;
    }
    return pthread_create(&f->thread, NULL, face_main, f) == 0;
}

size_t face_wait(struct face *f, const char *type, size_t from, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (timeout_ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    size_t found = 0;
    size_t i = from;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        for (; i < f->len && !found; i++) {
            const char *t = json_get_str(f->events[i], "type");
            found = t && strcmp(t, type) == 0 ? i + 1 : 0;
        }
        if (found || pthread_cond_timedwait(&f->news, &f->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    pthread_mutex_unlock(&f->lock);
    return found;
}

size_t face_len(struct face *f)
{
    pthread_mutex_lock(&f->lock);
    size_t n = f->len;
    pthread_mutex_unlock(&f->lock);
    return n;
}

const struct json *face_event(struct face *f, size_t i)
{
    pthread_mutex_lock(&f->lock);
    const struct json *event = i < f->len ? f->events[i] : NULL;
    pthread_mutex_unlock(&f->lock);
    return event;
}

void face_finish(struct face *f)
{
    atomic_store(&f->stop, true);
    wake(f);
    pthread_join(f->thread, NULL);
    for (size_t i = 0; i < f->len; i++) {
        json_destroy(f->events[i]);
    }
    free(f->events);
    close(f->wake_fd);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->news);
    if (f->host) {
        buf_finish(&f->host->text);
    }
    *f = (struct face){0};
}

void face_types(struct face *f, struct buf *out)
{
    const char *last = "";
    for (size_t i = 0; i < face_len(f); i++) {
        const char *type = json_get_str(face_event(f, i), "type");
        bool update = strstr(type, "_update") != NULL;
        if (!update || strcmp(type, last) != 0) {
            buf_adds(out, out->len ? "," : "");
            buf_adds(out, type);
        }
        last = type;
    }
}
