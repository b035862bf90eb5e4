#include "agent/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/vec.h"
#include "sys/file.h"

struct command *command_create(enum command_type type)
{
    struct command *c = calloc(1, sizeof *c);
    if (c) {
        c->type = type;
    }
    return c;
}

void command_destroy(struct command *c)
{
    if (!c) {
        return;
    }
    message_destroy(c->message);
    free(c->id);
    free(c->name);
    free(c->cwd);
    buf_finish(&c->text);
    cancel_unref(c->cancel);
    review_unref(c->review);
    if (c->call) {
        host_call_unref(c->call);
    }
    free(c);
}

enum pi_status mailbox_init(struct mailbox *m, void (*wake)(void *data), void *wake_data,
                            struct pi_error *err)
{
    *m = (struct mailbox){.bell = -1, .wake = wake, .wake_data = wake_data, .next_id = 1};
    m->commands_end = &m->commands;
    m->notes_end = &m->notes;
    m->events_end = &m->events;
    m->queued_end = &m->queued;
    enum pi_status status = cancel_create(&m->calls_cancel, NULL, err);
    if (status) {
        return status;
    }
    m->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->bell < 0) {
        cancel_unref(m->calls_cancel);
        m->calls_cancel = NULL;
        return error_errno(err, errno, "no descriptor for the agent's mailbox");
    }
    pthread_mutex_init(&m->lock, NULL);
    return PI_OK;
}

static void drop_call(struct host_call *call)
{
    if (call->hold.release) {
        call->hold.release(call->hold.data);
        call->hold = (struct host_hold){0};
    }
    host_call_unref(call);
}

static void drop_calls(struct host_call *list)
{
    while (list) {
        struct host_call *next = list->next;
        drop_call(list);
        list = next;
    }
}

void mailbox_finish(struct mailbox *m)
{
    if (m->bell < 0 || !m->calls_cancel) {
        return;
    }
    struct command *commands;
    struct run_note *notes;
    mailbox_take(m, &commands, &notes);
    while (commands) {
        struct command *next = commands->next;
        command_destroy(commands);
        commands = next;
    }
    while (notes) {
        struct run_note *next = *run_note_link(notes);
        run_note_drop(notes);
        notes = next;
    }
    while (m->events) {
        struct pi_event *next = m->events->next;
        event_destroy(m->events);
        m->events = next;
    }
    drop_calls(m->queued);
    drop_calls(m->taken);
    free(m->withdrawn);
    cancel_unref(m->run_cancel);
    cancel_unref(m->calls_cancel);
    file_close(&m->bell);
    pthread_mutex_destroy(&m->lock);
    *m = (struct mailbox){.bell = -1};
}

static void ring(struct mailbox *m)
{
    uint64_t one = 1;
    ssize_t ignored =
        write(m->bell, &one, sizeof one); // full means that it rings already
    (void)ignored;
}

// Call with the lock held: tells whether the face must be woken after unlocking.
static bool face_has_mail(struct mailbox *m)
{
    bool wake = !m->face_busy;
    m->face_busy = true;
    return wake;
}

// The face is woken with the lock held, so that no wake-up can be on its way when
// mailbox_close() has returned: the face may be gone then.
static void unlock_and_wake(struct mailbox *m, bool wake)
{
    if (wake && m->wake && !m->closed) {
        m->wake(m->wake_data);
    }
    pthread_mutex_unlock(&m->lock);
}

// Output of a command may stand before events of others; the call's own end always comes
// later.
static struct pi_event *find_mergeable(struct mailbox *m, const struct pi_event *event)
{
    if (event->event_class == EVENT_DELTA) {
        return m->last_event;
    }
    struct pi_event *found = NULL;
    if (event->event_class == EVENT_OUTPUT) {
        for (struct pi_event *e = m->events; e; e = e->next) {
            if (e->event_class == EVENT_OUTPUT &&
                strcmp(e->call_id, event->call_id) == 0) {
                found = e;
            }
        }
    }
    return found;
}

void mailbox_emit(struct mailbox *m, struct pi_event *event)
{
    pthread_mutex_lock(&m->lock);
    if (!event) {
        m->lost = true;
        unlock_and_wake(m, face_has_mail(m));
        return;
    }
    struct pi_event *earlier = find_mergeable(m, event);
    bool merged = earlier && event_merge(earlier, event);
    if (!merged) {
        event->next = NULL;
        *m->events_end = event;
        m->events_end = &event->next;
        m->last_event = event;
    }
    unlock_and_wake(m, face_has_mail(m));
    if (merged) {
        event_destroy(event);
    }
}

void mailbox_take(struct mailbox *m, struct command **commands, struct run_note **notes)
{
    pthread_mutex_lock(&m->lock);
    *commands = m->commands;
    *notes = m->notes;
    m->commands = NULL;
    m->commands_end = &m->commands;
    m->notes = NULL;
    m->notes_end = &m->notes;
    pthread_mutex_unlock(&m->lock);
}

void mailbox_wait(struct mailbox *m, int timeout_ms)
{
    struct pollfd p = {.fd = m->bell, .events = POLLIN};
    int n = poll(&p, 1, timeout_ms);
    if (n > 0) {
        uint64_t count;
        ssize_t ignored = read(m->bell, &count, sizeof count);
        (void)ignored;
    }
}

bool mailbox_end_run(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    bool ended = !m->commands;
    struct cancel *over = NULL;
    if (ended) {
        m->running = false;
        over = m->run_cancel;
        m->run_cancel = NULL;
    }
    pthread_mutex_unlock(&m->lock);
    cancel_unref(over);
    return ended;
}

static void settle(struct host_call *call, enum pi_status status, const char *message)
{
    call->state = HOST_CALL_SETTLED;
    if (message) {
        call->status = error_set(&call->error, status, "%s", message);
    }
    uint64_t one = 1;
    ssize_t ignored = write(call->done_fd, &one, sizeof one);
    (void)ignored;
}

void mailbox_close(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->closed = true;
    struct host_call *failed = m->queued;
    m->queued = NULL;
    m->queued_end = &m->queued;
    for (struct host_call *c = failed; c; c = c->next) {
        settle(c, PI_ABORTED, "the agent was closed before the editor could answer");
    }
    pthread_mutex_unlock(&m->lock);
    drop_calls(failed);
}

static enum pi_status closed_error(struct pi_error *err)
{
    return error_set(err, PI_CLOSED, "the agent has ended; start a new one");
}

// Call with the lock held.
static void push_command(struct mailbox *m, struct command *c)
{
    c->next = NULL;
    *m->commands_end = c;
    m->commands_end = &c->next;
}

enum pi_status mailbox_command(struct mailbox *m, struct command *c, struct pi_error *err)
{
    if (!c) {
        return error_nomem(err);
    }
    pthread_mutex_lock(&m->lock);
    bool closed = m->closed;
    if (!closed) {
        push_command(m, c);
    }
    pthread_mutex_unlock(&m->lock);
    if (closed) {
        command_destroy(c);
        return closed_error(err);
    }
    ring(m);
    return PI_OK;
}

enum pi_status mailbox_start(struct mailbox *m, struct command *c, struct pi_error *err)
{
    struct cancel *token = NULL;
    enum pi_status status = c ? cancel_create(&token, NULL, err) : error_nomem(err);
    if (status) {
        command_destroy(c);
        return status;
    }
    bool queueable = c->type == COMMAND_STEER || c->type == COMMAND_FOLLOW_UP;
    pthread_mutex_lock(&m->lock);
    if (m->closed) {
        status = closed_error(err);
    } else if (m->running && !queueable) {
        status =
            error_set(err, PI_BUSY,
                      "a run is under way: abort it, or send the message as steering or "
                      "follow-up");
    } else {
        if (!m->running) {
            m->running = true;
            m->run_cancel = token;
            token = NULL;
        }
        push_command(m, c);
        c = NULL;
    }
    pthread_mutex_unlock(&m->lock);
    cancel_unref(token);
    command_destroy(c);
    if (!status) {
        ring(m);
    }
    return status;
}

void mailbox_note(struct mailbox *m, struct run_note *note)
{
    pthread_mutex_lock(&m->lock);
    struct run_note **link = run_note_link(note);
    *link = NULL;
    *m->notes_end = note;
    m->notes_end = link;
    pthread_mutex_unlock(&m->lock);
    ring(m);
}

void mailbox_abort(struct mailbox *m, bool urgent)
{
    pthread_mutex_lock(&m->lock);
    struct cancel *run = m->run_cancel ? cancel_ref(m->run_cancel) : NULL;
    struct cancel *calls = cancel_ref(m->calls_cancel);
    pthread_mutex_unlock(&m->lock);
    struct cancel *tokens[] = {run, calls};
    for (size_t i = 0; i < 2; i++) {
        if (tokens[i] && urgent) {
            cancel_set_urgent(tokens[i]);
        } else if (tokens[i]) {
            cancel_set(tokens[i]);
        }
        cancel_unref(tokens[i]);
    }
    ring(m);
}

struct cancel *mailbox_run_cancel(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    struct cancel *token = m->run_cancel ? cancel_ref(m->run_cancel) : NULL;
    pthread_mutex_unlock(&m->lock);
    return token;
}

struct cancel *mailbox_calls_cancel(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    struct cancel *old = NULL;
    if (cancel_is_set(m->calls_cancel) && !m->closed) {
        struct cancel *fresh = NULL;
        if (cancel_create(&fresh, NULL, NULL) == PI_OK) {
            old = m->calls_cancel;
            m->calls_cancel = fresh;
        }
    }
    struct cancel *token = cancel_ref(m->calls_cancel);
    pthread_mutex_unlock(&m->lock);
    cancel_unref(old);
    return token;
}

enum pi_status mailbox_host_post(void *mailbox, struct host_call *call)
{
    struct mailbox *m = mailbox;
    pthread_mutex_lock(&m->lock);
    if (m->closed) {
        pthread_mutex_unlock(&m->lock);
        return PI_CLOSED;
    }
    call->id = m->next_id++;
    call->state = HOST_CALL_QUEUED;
    call->next = NULL;
    *m->queued_end = host_call_ref(call);
    m->queued_end = &call->next;
    unlock_and_wake(m, face_has_mail(m));
    return PI_OK;
}

// Call with the lock held. True when call was in the list.
static bool unlink_call(struct host_call **list, struct host_call ***end,
                        struct host_call *call)
{
    for (struct host_call **at = list; *at; at = &(*at)->next) {
        if (*at != call) {
            continue;
        }
        *at = call->next;
        if (end && !call->next) {
            *end = at;
        }
        call->next = NULL;
        return true;
    }
    return false;
}

bool mailbox_host_recall(void *mailbox, struct host_call *call)
{
    struct mailbox *m = mailbox;
    pthread_mutex_lock(&m->lock);
    bool queued = call->state == HOST_CALL_QUEUED;
    if (queued) {
        unlink_call(&m->queued, &m->queued_end, call);
        call->state = HOST_CALL_SETTLED;
    }
    pthread_mutex_unlock(&m->lock);
    if (queued) {
        host_call_unref(call);
    }
    return queued;
}

bool mailbox_host_leave(void *mailbox, struct host_call *call, struct host_hold *hold)
{
    struct mailbox *m = mailbox;
    bool unlinked = false;
    bool wake = false;
    pthread_mutex_lock(&m->lock);
    bool over = call->state != HOST_CALL_TAKEN;
    if (call->state == HOST_CALL_QUEUED) {
        unlinked = unlink_call(&m->queued, &m->queued_end, call);
        call->state = HOST_CALL_SETTLED;
    } else if (!over) {
        call->abandoned = true;
        if (hold) {
            call->hold = *hold;
            *hold = (struct host_hold){0};
        }
        uint64_t *grown = vec_grow(m->withdrawn, &m->withdrawn_cap, m->withdrawn_len + 1,
                                   sizeof *grown);
        if (grown) {
            m->withdrawn = grown;
            m->withdrawn[m->withdrawn_len++] = call->id;
            wake = face_has_mail(m);
        }
    }
    unlock_and_wake(m, wake);
    if (unlinked) {
        host_call_unref(call);
    }
    return over;
}

struct host_call *mailbox_take_call(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    struct host_call *call = m->queued;
    if (call) {
        unlink_call(&m->queued, &m->queued_end, call);
        call->state = HOST_CALL_TAKEN;
        call->next = m->taken;
        m->taken = call;
        host_call_ref(call);
    }
    pthread_mutex_unlock(&m->lock);
    return call;
}

bool mailbox_take_withdrawn(struct mailbox *m, uint64_t *id)
{
    pthread_mutex_lock(&m->lock);
    bool any = m->withdrawn_len > 0;
    if (any) {
        *id = m->withdrawn[--m->withdrawn_len];
    }
    pthread_mutex_unlock(&m->lock);
    return any;
}

struct pi_event *mailbox_take_event(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    bool lost = m->lost && !m->events;
    struct pi_event *event = m->events;
    if (event) {
        m->events = event->next;
        if (!m->events) {
            m->events_end = &m->events;
            m->last_event = NULL;
        }
    }
    if (lost) {
        m->lost = false;
    }
    pthread_mutex_unlock(&m->lock);
    if (lost) {
        event = event_notice("error", "out of memory: some events were lost");
    }
    return event;
}

void mailbox_answer(struct mailbox *m, uint64_t id, const struct pi_host_answer *answer)
{
    pthread_mutex_lock(&m->lock);
    struct host_call *call = m->taken;
    while (call && call->id != id) {
        call = call->next;
    }
    if (call) {
        unlink_call(&m->taken, NULL, call);
    }
    pthread_mutex_unlock(&m->lock);
    if (!call) {
        return;
    }
    // Nobody else finds the call now, so the texts are copied without the lock.
    host_call_fill(call, answer);
    pthread_mutex_lock(&m->lock);
    settle(call, call->status, NULL);
    bool late = call->abandoned;
    pthread_mutex_unlock(&m->lock);
    if (late && call->hold.release) {
        call->hold.release(call->hold.data);
        call->hold = (struct host_hold){0};
    }
    struct command *c = late ? command_create(COMMAND_LATE_ANSWER) : NULL;
    if (c) {
        c->call = call;
        mailbox_command(m, c, NULL);
    } else {
        host_call_unref(call);
    }
}

bool mailbox_rest(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    bool empty = !m->events && !m->queued && m->withdrawn_len == 0 && !m->lost;
    if (empty) {
        m->face_busy = false;
    }
    pthread_mutex_unlock(&m->lock);
    return empty;
}
