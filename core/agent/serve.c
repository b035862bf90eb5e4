// The agent thread: it waits for mail, serves it, and runs the loop.

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/model_choice.h"
#include "agent/prompt.h"
#include "sys/clock.h"

void agent_emit(struct pi_agent *a, struct pi_event *event)
{
    mailbox_emit(&a->mailbox, event);
}

void agent_notice(struct pi_agent *a, const char *level, const char *text)
{
    log_line(a->log, "notice (%s): %s", level, text);
    agent_emit(a, event_notice(level, text));
}

void agent_emit_queue(struct pi_agent *a, struct json *dropped)
{
    agent_emit(a,
               event_queue(queue_json(&a->steering), queue_json(&a->follow_up), dropped));
}

// The prompt depends on the active tools; the file of each part is read again then.
enum pi_status agent_build_prompt(struct pi_agent *a, struct buf *problems,
                                  struct pi_error *err)
{
    char date[11];
    clock_date(date);
    struct buf prompt = {0};
    struct buf copy = {0};
    enum pi_status status =
        prompt_build(&prompt, problems,
                     &(struct prompt_options){
                         .cwd = a->cwd,
                         .agent_dir = a->settings.agent_dir,
                         .home = a->home,
                         .date = date,
                         .registry = &a->registry,
                         .system_prompt = a->custom_prompt,
                         .append_system_prompt = (const char *const *)a->append_prompts,
                         .no_context_files = a->no_context_files,
                     },
                     err);
    buf_addsv(&copy, buf_sv(&prompt));
    if (!status && (!buf_ok(&prompt) || !buf_ok(&copy))) {
        status = error_nomem(err);
    }
    if (status) {
        buf_finish(&prompt);
        buf_finish(&copy);
        return status;
    }
    buf_finish(&a->context.system_prompt);
    a->context.system_prompt = prompt;
    pthread_mutex_lock(&a->mailbox.lock);
    struct buf old = a->shared_prompt;
    a->shared_prompt = copy;
    pthread_mutex_unlock(&a->mailbox.lock);
    buf_finish(&old);
    return PI_OK;
}

void agent_notice_lines(struct pi_agent *a, const struct buf *problems)
{
    struct sv rest = buf_sv(problems);
    struct sv line;
    while (sv_next_line(&rest, &line)) {
        char *text = strndup(line.p, line.n);
        agent_notice(a, "warning", text ? text : "out of memory");
        free(text);
    }
}

// The prompt tells of the active tools.
static void tools_changed(struct pi_agent *a, enum pi_status status, struct pi_error *err)
{
    struct buf problems = {0};
    if (!status) {
        status = agent_build_prompt(a, &problems, err);
    }
    if (status) {
        agent_notice(a, "error", err->message);
    }
    agent_notice_lines(a, &problems);
    buf_finish(&problems);
}

static void change_tools(struct pi_agent *a, const struct command *c)
{
    struct pi_error err = {0};
    enum pi_status status = PI_OK;
    if (c->type == COMMAND_SET_TOOLS) {
        status = registry_set_active(&a->registry, buf_cstr(&c->text), &err);
    } else if (c->type == COMMAND_ADD_TOOL) {
        status = registry_add(&a->registry, c->added, &err);
    } else {
        registry_remove(&a->registry, buf_cstr(&c->text));
    }
    tools_changed(a, status, &err);
}

static void clear_queues(struct pi_agent *a)
{
    struct message_queue all = {0};
    bool modes[] = {a->steering.all, a->follow_up.all};
    a->steering.all = a->follow_up.all = true;
    bool ok = queue_take(&a->steering, &all) && queue_take(&a->follow_up, &all);
    a->steering.all = modes[0];
    a->follow_up.all = modes[1];
    agent_emit_queue(a, ok ? queue_json(&all) : NULL);
    queue_finish(&all);
}

static void enqueue(struct pi_agent *a, struct command *c)
{
    struct message_queue *queue = c->type == COMMAND_PROMPT  ? &a->start
                                  : c->type == COMMAND_STEER ? &a->steering
                                                             : &a->follow_up;
    bool ok = queue_push(queue, c->message);
    c->message = NULL;
    if (!ok) {
        agent_notice(a, "error", "out of memory: a message was lost");
    } else if (queue != &a->start) {
        agent_emit_queue(a, NULL);
    }
    a->start_wanted = true;
}

static void list_messages(struct pi_agent *a, size_t max)
{
    const struct message_queue *t = &a->context.transcript;
    size_t from = max && t->len > max ? t->len - max : 0;
    agent_emit(a, event_transcript(t->items + from, t->len - from, from));
}

static void set_name(struct pi_agent *a, const char *name)
{
    free(a->wanted_name);
    a->wanted_name = strdup(name);
    record(a);
}

static void serve(struct pi_agent *a, struct command *c)
{
    switch (c->type) {
    case COMMAND_PROMPT:
    case COMMAND_STEER:
    case COMMAND_FOLLOW_UP:
        enqueue(a, c);
        break;
    case COMMAND_CONTINUE:
        a->continue_wanted = true;
        break;
    case COMMAND_SET_TOOLS:
    case COMMAND_ADD_TOOL:
    case COMMAND_REMOVE_TOOL:
        change_tools(a, c);
        break;
    case COMMAND_NOTE:
        buf_addf(&a->late_news, "[Note: %s]\n", buf_cstr(&c->text));
        break;
    case COMMAND_LIST_MESSAGES:
        list_messages(a, (size_t)c->number);
        break;
    case COMMAND_REVIEW:
        calls_review(a, c->review);
        break;
    case COMMAND_REVIEW_END:
        calls_review_end(a, c->review);
        break;
    case COMMAND_QUEUE_MODE:
        (c->delivery == PI_DELIVER_STEER ? &a->steering : &a->follow_up)->all = c->flag;
        break;
    case COMMAND_CLEAR_QUEUE:
        clear_queues(a);
        break;
    case COMMAND_SET_NAME:
        set_name(a, buf_cstr(&c->text));
        break;
    case COMMAND_CALL_TOOL:
        calls_add_user(a, c);
        break;
    case COMMAND_ANSWER:
        calls_answer(a, c->id, (enum pi_permission)c->number,
                     c->text.len ? buf_cstr(&c->text) : NULL);
        break;
    case COMMAND_SET_MODEL:
        choice_want(a, c);
        break;
    case COMMAND_SET_THINKING:
        choice_set_thinking(a, (enum thinking_level)c->number);
        break;
    case COMMAND_LIST_MODELS:
        choice_list(a, buf_cstr(&c->text));
        break;
    case COMMAND_LATE_ANSWER:
        calls_late_answer(a, c->call);
        break;
    case COMMAND_STOP:
        a->stop_wanted = true;
        break;
    }
    command_destroy(c);
}

static void take_note(struct pi_agent *a, struct run_note *note)
{
    struct run *owner = run_note_owner(note);
    if (owner && (owner == a->turn_port.run || owner == a->user_port.run)) {
        run_take(owner, note);
    } else {
        run_note_drop(note);
    }
}

void agent_pump(struct pi_agent *a, int timeout_ms)
{
    if (a->user_wait_ms >= 0 && (timeout_ms < 0 || a->user_wait_ms < timeout_ms)) {
        timeout_ms = a->user_wait_ms;
    }
    if (a->http) {
        http_wait(a->http, a->mailbox.bell, timeout_ms);
        timeout_ms = 0;
    }
    mailbox_wait(&a->mailbox, timeout_ms);
    struct command *commands;
    struct run_note *notes;
    mailbox_take(&a->mailbox, &commands, &notes);
    while (notes) {
        struct run_note *next = *run_note_link(notes);
        take_note(a, notes);
        notes = next;
    }
    while (commands) {
        struct command *next = commands->next;
        serve(a, commands);
        commands = next;
    }
    calls_step_user(a);
}

// Whether a message waits. One that came during a run has mostly been taken by it.
static bool message_waits(const struct pi_agent *a)
{
    return a->start.len || a->steering.len || a->follow_up.len;
}

// Without a message a run goes on from an end that was not an answer.
static bool can_continue(const struct pi_agent *a)
{
    const struct message_queue *t = &a->context.transcript;
    return t->len > 0 && (t->items[t->len - 1]->role != ROLE_ASSISTANT ||
                          t->items[t->len - 1]->stop_reason == STOP_ERROR ||
                          t->items[t->len - 1]->stop_reason == STOP_ABORTED);
}

// Whether a run was begun. A message that came during one and was left by an abort or a
// failure begins none: it waits for the next.
static bool run_is_begun(struct pi_agent *a)
{
    struct cancel *token = mailbox_run_cancel(&a->mailbox);
    cancel_unref(token);
    return token != NULL;
}

static void start_run(struct pi_agent *a)
{
    bool asked = a->continue_wanted;
    a->start_wanted = a->continue_wanted = false;
    if (!run_is_begun(a)) {
        return;
    }
    if (message_waits(a) || (asked && can_continue(a))) {
        loop_run(a);
        return;
    }
    if (asked) {
        agent_notice(a, "error", "nothing to continue: send a message instead");
    }
    while (!mailbox_end_run(&a->mailbox)) {
        agent_pump(a, 0);
    }
}

void *agent_main(void *data)
{
    struct pi_agent *a = data;
    while (!a->stop_wanted) {
        choice_settle(a); // what was asked for while the last run ended
        agent_pump(a, a->start_wanted || a->continue_wanted ? 0 : -1);
        if ((a->start_wanted || a->continue_wanted) && !a->stop_wanted) {
            start_run(a);
        }
    }
    run_destroy(a->user_port.run);
    a->user_port.run = NULL;
    while (a->questions) { // only reviews whose calls could not say that they left
        calls_review_end(a, a->questions->review);
    }
    http_destroy(a->http);
    a->http = NULL;
    return NULL;
}
