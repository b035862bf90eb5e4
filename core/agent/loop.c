// THE LOOP: turn after turn until the model stops.

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/ask.h"

// The same call with the same result: a hint from the third time on, an end at the sixth.
enum { REPEAT_HINT = 3, REPEAT_END = 6 };

// While an answer streams without a pause, other mail is served every so many events.
enum { EVENTS_BETWEEN_MAIL = 256 };

struct loop {
    struct pi_agent *agent;
    struct cancel *cancel;
    size_t first;                 // index of the run's first message in the transcript
    struct message_queue pending; // messages to inject before the next request
    uint64_t repeat_hash;
    unsigned repeats;
    bool repeated_too_often;
    unsigned retries; // since the last answer that arrived
    bool retry;       // the last answer failed and is asked for again
};

static struct message_queue *transcript(struct loop *l)
{
    return &l->agent->context.transcript;
}

static void out_of_memory(struct loop *l)
{
    agent_notice(l->agent, "error", "out of memory: the run ends here");
    mailbox_abort(&l->agent->mailbox, false);
}

// Adds a finished message to the transcript and shows it.
static bool append(struct loop *l, struct message *m)
{
    if (!queue_push(transcript(l), m)) {
        out_of_memory(l);
        return false;
    }
    record(l->agent);
    agent_emit(l->agent, event_message_start(m));
    agent_emit(l->agent, event_message_end(m));
    return true;
}

// What happened behind the model's back since its last request, as a message of its own.
static bool append_late_news(struct loop *l)
{
    struct buf *news = &l->agent->late_news;
    if (news->len == 0) {
        return true;
    }
    struct message *m = message_create(ROLE_USER);
    if (!m || !content_add_text(&m->content, buf_sv(news))) {
        message_destroy(m);
        out_of_memory(l);
        return false;
    }
    buf_clear(news);
    return append(l, m);
}

static bool inject(struct loop *l)
{
    if (!append_late_news(l)) {
        return false;
    }
    for (size_t i = 0; i < l->pending.len; i++) {
        struct message *m = l->pending.items[i];
        l->pending.items[i] = NULL;
        if (!append(l, m)) {
            return false;
        }
    }
    l->pending.len = 0;
    return true;
}

/* -- the tool calls -- */

static uint64_t hash_call(const struct block *call, const struct tool_result *result)
{
    struct buf text = {0};
    content_text(&result->content, &text);
    uint64_t h = file_hash(FILE_HASH_START, call->name, strlen(call->name) + 1);
    h = file_hash(h, buf_cstr(&call->text), call->text.len + 1);
    h = file_hash(h, buf_cstr(&text), text.len);
    h ^= result->is_error;
    buf_finish(&text);
    return h;
}

static void watch_repeats(struct loop *l, const struct block *call,
                          struct tool_result *result)
{
    uint64_t h = hash_call(call, result);
    l->repeats = h == l->repeat_hash ? l->repeats + 1 : 1;
    l->repeat_hash = h;
    if (l->repeats >= REPEAT_END) {
        l->repeated_too_often = true;
    }
    if (l->repeats < REPEAT_HINT) {
        return;
    }
    struct buf hint = {0};
    buf_addf(
        &hint,
        "[This is call number %u in a row with the same arguments and the same result. "
        "Another one will not tell more: try something else, or say what is missing.]",
        l->repeats);
    if (!buf_ok(&hint) || !content_add_text(&result->content, buf_sv(&hint))) {
        log_line(l->agent->log, "no memory for the hint on a repeated call");
    }
    buf_finish(&hint);
}

// Moves a result into the transcript.
static bool append_result(struct loop *l, const struct block *call,
                          struct tool_result *result)
{
    struct message *m = message_create(ROLE_TOOL_RESULT);
    if (!m) {
        out_of_memory(l);
        return false;
    }
    m->tool_call_id = strdup(call->id ? call->id : "");
    m->tool_name = strdup(call->name ? call->name : "");
    m->content = result->content;
    m->details = result->details;
    m->is_error = result->is_error;
    result->content = (struct content){0};
    result->details = NULL;
    if (!m->tool_call_id || !m->tool_name) {
        message_destroy(m);
        out_of_memory(l);
        return false;
    }
    return append(l, m);
}

static size_t count_calls(const struct message *answer)
{
    size_t n = 0;
    for (size_t i = 0; i < answer->content.len; i++) {
        n += answer->content.blocks[i].type == BLOCK_TOOL_CALL;
    }
    return n;
}

static const struct block *nth_call(const struct message *answer, size_t n)
{
    for (size_t i = 0; i < answer->content.len; i++) {
        const struct block *b = &answer->content.blocks[i];
        if (b->type == BLOCK_TOOL_CALL && n-- == 0) {
            return b;
        }
    }
    return NULL;
}

static enum pi_status add_calls(struct run *run, const struct message *answer,
                                struct pi_error *err)
{
    enum pi_status status = PI_OK;
    size_t n = count_calls(answer);
    for (size_t i = 0; i < n && !status; i++) {
        const struct block *call = nth_call(answer, i);
        status = run_add(run,
                         &(struct run_request){.id = call->id,
                                               .name = call->name,
                                               .arguments = buf_sv(&call->text),
                                               .complete = call->complete,
                                               .abort_after_ms = -1},
                         err);
    }
    return status;
}

// The results of a batch go into the transcript in the order of the calls. True: all of
// them asked for the end of the run.
static bool collect(struct loop *l, const struct message *answer, struct run *run)
{
    bool all_terminate = run_len(run) > 0;
    for (size_t i = 0; i < run_len(run); i++) {
        const struct block *call = nth_call(answer, i);
        struct tool_result *result = run_result(run, i);
        watch_repeats(l, call, result);
        all_terminate = all_terminate && result->terminate;
        if (!append_result(l, call, result)) {
            return true;
        }
    }
    return all_terminate;
}

// Runs the calls of an answer. True: the model is to see the results.
static bool run_calls(struct loop *l, const struct message *answer)
{
    struct pi_agent *a = l->agent;
    struct pi_error err = {0};
    struct run_port port = calls_port(&a->turn_port);
    enum pi_status status = run_create(&a->turn_port.run, &a->registry, &a->tool_context,
                                       &port, l->cancel, true, &err);
    if (!status) {
        status = add_calls(a->turn_port.run, answer, &err);
    }
    if (status) {
        run_destroy(a->turn_port.run);
        a->turn_port.run = NULL;
        out_of_memory(l);
        return false;
    }
    int wait_ms = -1;
    while (run_step(a->turn_port.run, &wait_ms) == PI_MORE) {
        agent_pump(a, wait_ms);
    }
    bool go_on = !collect(l, answer, a->turn_port.run);
    run_destroy(a->turn_port.run);
    a->turn_port.run = NULL;
    return go_on;
}

// Calls of an answer that failed or was aborted are answered, too, so that every call of
// the transcript has one result.
static void refuse_calls(struct loop *l, const struct message *answer)
{
    size_t n = count_calls(answer);
    for (size_t i = 0; i < n; i++) {
        struct tool_result result = {0};
        tool_result_error(&result,
                          "The call was not run, because the answer it belongs to did "
                          "not arrive whole.");
        append_result(l, nth_call(answer, i), &result);
        tool_result_finish(&result);
    }
}

/* -- turns -- */

// One turn: an answer and its calls. True: the model has not stopped yet.
static bool turn(struct loop *l)
{
    struct ask_outcome outcome;
    struct message *answer = ask_model(l->agent, l->cancel, &outcome);
    if (!queue_push(transcript(l), answer)) {
        out_of_memory(l);
        return false;
    }
    record(l->agent);
    size_t results = transcript(l)->len;
    bool go_on = outcome.continue_turn;
    if (answer->stop_reason == STOP_ERROR || answer->stop_reason == STOP_ABORTED) {
        refuse_calls(l, answer);
    } else if (count_calls(answer) > 0) {
        go_on = run_calls(l, answer);
    }
    record_sync(l->agent);
    agent_emit(l->agent, event_turn_end(answer, transcript(l)->items + results,
                                        transcript(l)->len - results));
    l->retry = ask_again(l->agent, l->cancel, answer, &outcome.failure, &l->retries);
    return go_on || l->retry;
}

static bool last_failed(struct loop *l)
{
    for (size_t i = transcript(l)->len; i > l->first; i--) {
        const struct message *m = transcript(l)->items[i - 1];
        if (m->role == ROLE_ASSISTANT) {
            return m->stop_reason == STOP_ERROR || m->stop_reason == STOP_ABORTED;
        }
    }
    return false;
}

// True: the run must end here, whatever is queued.
static bool must_end(struct loop *l)
{
    const struct agent_hooks *hooks = &l->agent->hooks;
    if (l->repeated_too_often) {
        agent_notice(
            l->agent, "warning",
            "The model made the same call with the same result six times in a row; the "
            "run was ended. Send a message to go on.");
        return true;
    }
    return cancel_is_set(l->cancel) || (last_failed(l) && !l->retry) ||
           (hooks->stop_after_turn && hooks->stop_after_turn(hooks->data));
}

static void take(struct loop *l, struct message_queue *queue)
{
    size_t before = queue->len;
    if (!queue_take(queue, &l->pending)) {
        out_of_memory(l);
    }
    if (queue->len != before) {
        agent_emit_queue(l->agent, NULL);
    }
}

// Fills pending with what the next turn starts from. False: there is nothing more to do.
static bool next_turn(struct loop *l, bool go_on)
{
    struct pi_agent *a = l->agent;
    if (must_end(l)) {
        while (!mailbox_end_run(&a->mailbox)) {
            agent_pump(a, 0);
        }
        return false;
    }
    for (;;) {
        take(l, &a->steering);
        if (!go_on && l->pending.len == 0) {
            take(l, &a->follow_up);
        }
        if (go_on || l->pending.len > 0) {
            return true;
        }
        if (mailbox_end_run(&a->mailbox)) {
            return false;
        }
        agent_pump(a, 0); // what has just come may be a message
    }
}

void loop_run(struct pi_agent *a)
{
    struct loop l = {.agent = a, .first = a->context.transcript.len};
    l.cancel = mailbox_run_cancel(&a->mailbox);
    if (!queue_take(&a->start, &l.pending)) {
        out_of_memory(&l);
    }
    a->record_failed = false;
    take(&l, &a->steering);
    if (l.pending.len == 0) {
        take(&l, &a->follow_up);
    }
    agent_emit(a, event_plain(PI_EVENT_AGENT_START));
    bool go_on = true;
    while (go_on) {
        agent_emit(a, event_plain(PI_EVENT_TURN_START));
        go_on = inject(&l) && turn(&l);
        agent_pump(a, 0);
        go_on = next_turn(&l, go_on);
    }
    agent_emit(a, event_agent_end(transcript(&l)->items + l.first,
                                  transcript(&l)->len - l.first));
    queue_finish(&l.pending);
    cancel_unref(l.cancel);
}
