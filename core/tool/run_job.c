#include "tool/run_job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/clock.h"
#include "tool/mutation_queue.h"

enum { STACK_BYTES = 2 * 1024 * 1024 };

static void show_progress(const struct tool_call *call, const struct tool_update *update);

struct run_job *job_create(const struct run_request *request,
                           const struct tool_context *context,
                           const struct run_port *port)
{
    struct run_job *j = calloc(1, sizeof(*j));
    if (!j) {
        return NULL;
    }
    atomic_init(&j->refs, 1);
    atomic_init(&j->posted, false);
    j->id = strdup(request->id);
    j->name = strdup(request->name);
    const char *cwd = request->cwd ? request->cwd : context->cwd;
    j->cwd = cwd ? strdup(cwd) : NULL;
    buf_addsv(&j->text, request->arguments);
    if (!j->id || !j->name || (cwd && !j->cwd) || !buf_ok(&j->text)) {
        job_unref(j);
        return NULL;
    }
    j->complete = request->complete;
    j->abort_at_ms = -1;
    j->aborted_since_ms = -1;
    j->context = *context;
    j->context.cwd = j->cwd;
    j->port = *port;
    j->call = (struct tool_call){
        .id = j->id,
        .name = j->name,
        .context = &j->context,
        .progress = show_progress,
        .owner = j,
    };
    return j;
}

void job_unref(struct run_job *j)
{
    if (!j || atomic_fetch_sub(&j->refs, 1) > 1) {
        return;
    }
    json_destroy(j->call.args);
    tool_plan_finish(&j->call.plan);
    tool_plan_finish(&j->work.plan);
    tool_result_finish(&j->work.result);
    tool_result_finish(&j->result);
    cancel_unref(j->call.cancel);
    cancel_unref(j->parent);
    buf_finish(&j->text);
    free(j->reason);
    free(j->id);
    free(j->name);
    free(j->cwd);
    free(j);
}

/* Notes */

// Display only: without memory the piece is lost, the result is not.
static void show_progress(const struct tool_call *call, const struct tool_update *update)
{
    struct run_job *j = call->owner;
    size_t n = update->text.p ? update->text.n : 0;
    struct run_note *note = n > 0 ? malloc(sizeof(*note) + n) : NULL;
    if (!note) {
        return;
    }
    char *bytes = (char *)(note + 1);
    memcpy(bytes, update->text.p, n);
    *note = (struct run_note){.job = j, .update = true, .text = sv_make(bytes, n)};
    atomic_fetch_add(&j->refs, 1);
    j->port.post(j->port.data, note);
}

void run_note_drop(struct run_note *note)
{
    struct run_job *j = note->job;
    if (note->update) {
        free(note);
    }
    job_unref(j);
}

struct run_note **run_note_link(struct run_note *note)
{
    return &note->link;
}

struct run *run_note_owner(const struct run_note *note)
{
    return note->job->run;
}

/* Threads */

// The thread's reference goes with the note; nothing of the job may be touched after it.
static void post_done(struct run_job *j)
{
    struct run_port port = j->port;
    j->note = (struct run_note){.job = j};
    atomic_store(&j->posted, true);
    port.post(port.data, &j->note);
    if (port.let_go) {
        port.let_go(port.data);
    }
}

static void *plan_thread(void *data)
{
    struct run_job *j = data;
    struct job_work *w = &j->work;
    w->status = j->tool.plan(&w->plan, j->call.args, &j->context, &w->error);
    post_done(j);
    return NULL;
}

static void release(struct host_hold *hold)
{
    if (hold->release) {
        hold->release(hold->data);
    }
    *hold = (struct host_hold){0};
}

static void *execute_thread(void *data)
{
    struct run_job *j = data;
    struct job_work *w = &j->work;
    struct mutation_ticket *ticket = j->call.hold.data;
    w->status = ticket ? mutation_wait(ticket, j->call.cancel, &w->error) : PI_OK;
    if (w->status == PI_ABORTED) {
        error_set(
            &w->error, PI_ABORTED,
            "Aborted while waiting for another change of the same file; nothing was "
            "changed.");
    } else if (!w->status) {
        w->status = j->tool.execute(&w->result, &j->call, &w->error);
    }
    release(&j->call.hold);
    post_done(j);
    return NULL;
}

// Signals belong to the process that we live in; those of a fault cannot be held back.
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static int create_thread(struct run_job *j, void *(*body)(void *))
{
    pthread_attr_t attributes;
    sigset_t before;
    int error = pthread_attr_init(&attributes);
    if (error) {
        return error;
    }
    error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!error) {
        block_signals(&before);
        error = pthread_create(&j->thread, &attributes, body, j);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

static enum pi_status begin(struct run_job *j, void *(*body)(void *),
                            struct pi_error *err)
{
    j->done = false;
    atomic_store(&j->posted, false);
    j->work.error = (struct pi_error){0};
    atomic_fetch_add(&j->refs, 1);
    if (j->port.hold) {
        j->port.hold(j->port.data);
    }
    int error = create_thread(j, body);
    if (!error) {
        j->joinable = true;
        return PI_OK;
    }
    if (j->port.let_go) {
        j->port.let_go(j->port.data);
    }
    job_unref(j);
    error_errno(err, error, "cannot start a thread for \"%s\"", j->name);
    return error == EAGAIN ? PI_BUSY : PI_IO;
}

enum pi_status job_plan(struct run_job *j, struct pi_error *err)
{
    return begin(j, plan_thread, err);
}

static void leave_queue(void *data)
{
    mutation_leave(data);
}

enum pi_status job_execute(struct run_job *j, struct pi_error *err)
{
    const struct tool_plan *plan = &j->call.plan;
    if (plan->effect == TOOL_CHANGE && plan->target.key) {
        struct mutation_ticket *ticket = NULL;
        enum pi_status status = mutation_enter(&ticket, plan->target.key, err);
        if (status) {
            return status;
        }
        j->call.hold = (struct host_hold){.release = leave_queue, .data = ticket};
    }
    enum pi_status status = begin(j, execute_thread, err);
    if (status) {
        release(&j->call.hold);
    }
    return status;
}

void job_join(struct run_job *j)
{
    if (j->joinable) {
        pthread_join(j->thread, NULL);
        j->joinable = false;
    }
}

void job_join_until(struct run_job *j, int64_t deadline_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    // Only destroy comes here with a thread still under way, so looking again now and
    // then is cheaper than a descriptor for each call.
    while (j->joinable && !atomic_load(&j->posted) && clock_mono_ms() < deadline_ms) {
        nanosleep(&pause, NULL);
    }
    if (atomic_load(&j->posted)) {
        job_join(j);
    } else {
        job_orphan(j);
    }
}

void job_orphan(struct run_job *j)
{
    if (j->joinable) {
        pthread_detach(j->thread);
        j->joinable = false;
        j->orphaned = true;
    }
}
