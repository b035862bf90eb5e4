// The face's side: events and host requests are delivered on its thread.

#include "agent/agent.h"
#include "sys/clock.h"

// What a dispatch has left of its budget.
struct allowance {
    const struct pi_budget *budget;
    int64_t until_ms;
    size_t bytes;
    bool used; // something was delivered
};

static bool exhausted(const struct allowance *w)
{
    if (!w->used || !w->budget) {
        return false;
    }
    return (w->budget->bytes && w->bytes >= w->budget->bytes) ||
           (w->budget->time_ms && clock_mono_ms() >= w->until_ms);
}

static void deliver_call(struct pi_agent *a, struct host_call *call)
{
    struct pi_host_request request = {
        .id = call->id,
        .op = call->op,
        .path = call->path,
        .version = call->version,
        .changes = call->changes,
        .changes_len = call->changes_len,
        .tool = call->tool,
        .arguments = call->arguments.len ? buf_cstr(&call->arguments) : NULL,
        .arguments_len = call->arguments.len,
    };
    a->face_host->request(a->face_host_data, &request);
}

// Host requests before events: a tool waits for them.
static void deliver_calls(struct pi_agent *a, struct allowance *w)
{
    struct host_call *call;
    uint64_t id;
    while (!a->destroy_wanted && !exhausted(w) &&
           (call = mailbox_take_call(&a->mailbox))) {
        w->used = true;
        w->bytes += 256;
        deliver_call(a, call);
        host_call_unref(call);
    }
    while (!a->destroy_wanted && mailbox_take_withdrawn(&a->mailbox, &id)) {
        w->used = true;
        if (a->face_host->withdraw) {
            a->face_host->withdraw(a->face_host_data, id);
        }
    }
}

static void deliver(struct pi_agent *a, struct allowance *w,
                    void (*on_event)(void *data, const pi_event *event), void *data)
{
    while (!a->destroy_wanted) {
        if (a->face_host) {
            deliver_calls(a, w);
        }
        if (a->destroy_wanted || exhausted(w)) {
            return;
        }
        struct pi_event *event = mailbox_take_event(&a->mailbox);
        if (!event) {
            return;
        }
        w->used = true;
        w->bytes += event_size(event);
        if (on_event) {
            on_event(data, event);
        }
        event_destroy(event);
    }
}

enum pi_status pi_agent_dispatch(pi_agent *a, const struct pi_budget *budget,
                                 void (*on_event)(void *data, const pi_event *event),
                                 void *data)
{
    if (a->dispatching) {
        return PI_BUSY;
    }
    struct allowance w = {.budget = budget};
    if (budget && budget->time_ms) {
        w.until_ms = clock_mono_ms() + budget->time_ms;
    }
    a->dispatching = true;
    deliver(a, &w, on_event, data);
    a->dispatching = false;
    if (a->destroy_wanted) {
        pi_agent_destroy(a);
        return PI_CLOSED;
    }
    return mailbox_rest(&a->mailbox) ? PI_OK : PI_MORE;
}

void pi_agent_answer_host(pi_agent *a, uint64_t id, const struct pi_host_answer *answer)
{
    mailbox_answer(&a->mailbox, id, answer);
}
