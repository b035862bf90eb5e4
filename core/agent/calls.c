// How calls meet the rest of the agent: events, hooks, questions, the user's own calls.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "tool/title.h"

static void on_post(void *data, struct run_note *note)
{
    struct call_port *port = data;
    mailbox_note(&port->agent->mailbox, note);
}

static void on_hold(void *data)
{
    struct call_port *port = data;
    atomic_fetch_add(&port->agent->refs, 1);
}

static void on_let_go(void *data)
{
    struct call_port *port = data;
    agent_unref(port->agent);
}

static enum run_verdict on_before(void *data, const struct tool_call *call,
                                  struct json *args, struct pi_error *err)
{
    const struct agent_hooks *hooks = &((struct call_port *)data)->agent->hooks;
    if (!hooks->before_call) {
        return RUN_ALLOW;
    }
    return hooks->before_call(hooks->data, call, args, err);
}

static enum run_verdict on_judge(void *data, const struct tool_call *call,
                                 struct pi_error *err UNUSED)
{
    struct pi_agent *a = ((struct call_port *)data)->agent;
    enum run_verdict verdict = policy_judge(&a->policy, call);
    // The review is the question.
    bool reviewed = call->plan.effect == TOOL_CHANGE && atomic_load(&a->review_first);
    return verdict == RUN_ASK && reviewed ? RUN_ALLOW : verdict;
}

static const char no_memory[] = "out of memory while asking the user";

// A new question on the list; NULL without memory, which the face is told.
static struct question *open_question(struct pi_agent *a)
{
    struct question *q = calloc(1, sizeof *q);
    if (!q) {
        agent_emit(a, NULL);
        return NULL;
    }
    snprintf(q->id, sizeof q->id, "ask-%u", ++a->next_question);
    q->next = a->questions;
    a->questions = q;
    return q;
}

static void on_ask(void *data, const struct tool_call *call)
{
    struct call_port *port = data;
    struct pi_agent *a = port->agent;
    struct question *q = open_question(a);
    if (!q) {
        run_answer(port->run, call->id, false, no_memory);
        return;
    }
    q->run = port->run;
    q->call = call;

    struct buf means = {0};
    policy_session_means(call, &means);
    agent_emit(a, event_permission_request(&(struct event_question){
                      .id = q->id, .call = call, .session_means = buf_cstr(&means)}));
    buf_finish(&means);
}

void calls_review(struct pi_agent *a, struct review *review)
{
    struct question *q = open_question(a);
    if (!q) {
        review_answer(review, false, no_memory);
        return;
    }
    atomic_fetch_add(&review->refs, 1);
    q->review = review;
    agent_emit(a, event_review_request(q->id, review));
}

// Takes a question off the list and tells the face how it ended.
static void close_question(struct pi_agent *a, struct question *q, const char *outcome)
{
    struct question **at = &a->questions;
    while (*at != q) {
        at = &(*at)->next;
    }
    *at = q->next;
    const char *call_id = q->review ? q->review->call_id : q->call->id;
    agent_emit(a, event_permission_end(q->id, call_id, outcome));
    review_unref(q->review);
    free(q);
}

void calls_review_end(struct pi_agent *a, const struct review *review)
{
    for (struct question *q = a->questions; q; q = q->next) {
        if (q->review == review) {
            close_question(a, q, "withdrawn");
            return;
        }
    }
}

static void on_ask_end(void *data, const struct tool_call *call)
{
    struct pi_agent *a = ((struct call_port *)data)->agent;
    for (struct question *q = a->questions; q; q = q->next) {
        if (q->run && q->call == call) {
            close_question(a, q, "withdrawn");
            return;
        }
    }
}

void calls_answer(struct pi_agent *a, const char *id, enum pi_permission answer,
                  const char *reason)
{
    struct question *q = a->questions;
    while (q && strcmp(q->id, id) != 0) {
        q = q->next;
    }
    if (!q) {
        return; // answered already, or withdrawn
    }
    if (q->review) {
        review_answer(q->review, answer != PI_PERMISSION_DENY, reason);
        close_question(a, q, answer != PI_PERMISSION_DENY ? "allowed" : "denied");
        return;
    }
    struct run *run = q->run;
    char *call_id = strdup(q->call->id);
    bool allow = answer != PI_PERMISSION_DENY && call_id;
    if (answer == PI_PERMISSION_SESSION && !policy_allow_session(&a->policy, q->call)) {
        agent_notice(a, "warning", "out of memory: the answer holds for this call only");
    }
    close_question(a, q, allow ? "allowed" : "denied");
    if (call_id) {
        run_answer(run, call_id, allow, reason);
    }
    free(call_id);
}

static void on_started(void *data, const struct tool_call *call)
{
    struct pi_agent *a = ((struct call_port *)data)->agent;
    const struct tool *tool = registry_find_any(&a->registry, call->name);
    struct buf title = {0};
    tool_title(&title, tool ? tool->definition->title : NULL, call->args);
    log_line(a->log, "call %s %s starts", call->id, call->name);
    agent_emit(a, event_tool_start(call, buf_cstr(&title)));
    buf_finish(&title);
}

static void on_updated(void *data, const struct tool_call *call, struct sv text)
{
    agent_emit(((struct call_port *)data)->agent, event_tool_output(call, text));
}

static void on_ended(void *data, const struct tool_call *call, struct tool_result *result)
{
    struct pi_agent *a = ((struct call_port *)data)->agent;
    if (a->hooks.after_call) {
        a->hooks.after_call(a->hooks.data, call, result);
    }
    log_line(a->log, "call %s %s ends%s", call->id, call->name,
             result->is_error ? " as an error" : "");
    for (size_t i = 0; i < result->changes_len; i++) {
        agent_emit(a, event_file_changed(&result->changes[i], call->name));
    }
    agent_emit(a, event_tool_end(call, result));
}

struct run_port calls_port(struct call_port *port)
{
    return (struct run_port){
        .data = port,
        .post = on_post,
        .hold = on_hold,
        .let_go = on_let_go,
        .before = on_before,
        .judge = on_judge,
        .ask = on_ask,
        .ask_end = on_ask_end,
        .started = on_started,
        .updated = on_updated,
        .ended = on_ended,
    };
}

// The user's calls share one runner as long as the agent lives; each brings its own
// token.
static enum pi_status user_run(struct pi_agent *a, struct pi_error *err)
{
    if (a->user_port.run) {
        return PI_OK;
    }
    struct cancel *never = NULL;
    struct run_port port = calls_port(&a->user_port);
    enum pi_status status = cancel_create(&never, NULL, err);
    if (!status) {
        status = run_create(&a->user_port.run, &a->registry, &a->tool_context, &port,
                            never, false, err);
    }
    cancel_unref(never);
    return status;
}

static void end_unrunnable(struct pi_agent *a, const struct command *c,
                           const char *message)
{
    struct tool_call call = {.id = c->id, .name = c->name};
    struct tool_result result = {0};
    tool_result_error(&result, message);
    on_ended(&a->user_port, &call, &result);
    tool_result_finish(&result);
}

void calls_add_user(struct pi_agent *a, const struct command *c)
{
    struct pi_error err = {0};
    enum pi_status status = user_run(a, &err);
    if (!status) {
        status = run_add(a->user_port.run,
                         &(struct run_request){.id = c->id,
                                               .name = c->name,
                                               .arguments = buf_sv(&c->text),
                                               .complete = true,
                                               .cwd = c->cwd,
                                               .abort_after_ms = c->number,
                                               .cancel = c->cancel},
                         &err);
    }
    if (status) {
        end_unrunnable(a, c, err.message);
    }
}

void calls_step_user(struct pi_agent *a)
{
    a->user_wait_ms = -1;
    if (a->user_port.run) {
        run_step(a->user_port.run, &a->user_wait_ms);
        run_prune(a->user_port.run);
    }
}

void calls_late_answer(struct pi_agent *a, const struct host_call *call)
{
    if (call->op != PI_HOST_APPLY) {
        return;
    }
    if (call->status == PI_OK) {
        struct tool_file_change change = {
            .path = call->path, .saved = call->saved, .in_editor = true};
        agent_emit(a, event_file_changed(&change, "late"));
        buf_addf(&a->late_news,
                 "The change of %s that was sent to the editor and not confirmed has "
                 "been made "
                 "after all. Read the file again before you change it.\n",
                 call->path);
    } else {
        buf_addf(&a->late_news,
                 "The change of %s that was sent to the editor and not confirmed was not "
                 "made: "
                 "%s\n",
                 call->path, call->error.message);
    }
}
