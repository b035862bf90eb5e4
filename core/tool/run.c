#include "tool/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sys/clock.h"
#include "tool/run_job.h"

enum {
    // A thread that is still busy so long after abort is left to itself. A command needs
    // its time to end, tools that were added may run commands.
    ORPHAN_FILE_MS = 200,
    ORPHAN_COMMAND_MS = 3000,
    ORPHAN_URGENT_MS = 600,
    // A plan that takes longer hangs in the file system, so it is not a command's: later
    // calls stop taking it for a barrier.
    PLAN_PATIENCE_MS = 200,
    // Without barriers, how long a change waits for earlier plans to tell their files.
    ORDER_PATIENCE_MS = 1000,
    // Of one batch; each costs a thread and some descriptors.
    SIDE_BY_SIDE_MAX = 64,
};

struct run {
    const struct registry *registry;
    const struct tool_context *context;
    struct run_port port;
    struct cancel *cancel;
    bool barriers;
    struct run_job **jobs; // in the order of the calls
    size_t len, cap;
};

enum pi_status run_create(struct run **out, const struct registry *registry,
                          const struct tool_context *context, const struct run_port *port,
                          struct cancel *cancel, bool barriers, struct pi_error *err)
{
    struct run *r = calloc(1, sizeof(*r));
    if (!r) {
        return error_nomem(err);
    }
    *r = (struct run){
        .registry = registry,
        .context = context,
        .port = *port,
        .cancel = cancel_ref(cancel),
        .barriers = barriers,
    };
    *out = r;
    return PI_OK;
}

enum pi_status run_add(struct run *r, const struct run_request *request,
                       struct pi_error *err)
{
    struct run_job **grown = vec_grow(r->jobs, &r->cap, r->len + 1, sizeof(*grown));
    if (!grown) {
        return error_nomem(err);
    }
    r->jobs = grown;
    struct run_job *j = job_create(request, r->context, &r->port);
    if (!j) {
        return error_nomem(err);
    }
    j->run = r;
    j->parent = cancel_ref(request->cancel ? request->cancel : r->cancel);
    if (request->abort_after_ms >= 0) {
        j->abort_at_ms = clock_mono_ms() + request->abort_after_ms;
    }
    r->jobs[r->len++] = j;
    return PI_OK;
}

/* Ends */

// What was not run as it was sent must not look as if it had been.
static void tell_repair(struct run_job *j)
{
    static const char note[] =
        "[The arguments held half of a surrogate pair or bytes that are not UTF-8; each "
        "was taken as U+FFFD. If that matters, send the whole characters.]";
    if (j->repaired && !content_add_text(&j->result.content, sv_of(note))) {
        tool_result_error(&j->result, "out of memory");
    }
}

// The call is over with what stands in j->result.
static void end(struct run *r, struct run_job *j)
{
    bool asked = j->state == JOB_ASKED;
    bool started = j->state == JOB_RUNNING;
    j->state = JOB_ENDED;
    if (asked) {
        r->port.ask_end(r->port.data, &j->call);
    }
    if (!started) {
        r->port.started(r->port.data, &j->call);
    }
    tell_repair(j);
    r->port.ended(r->port.data, &j->call, &j->result);
    if (!j->orphaned) {
        cancel_unref(j->call.cancel);
        j->call.cancel = NULL;
    }
}

static void end_error(struct run *r, struct run_job *j, const char *message)
{
    tool_result_error(&j->result, message);
    end(r, j);
}

static void end_status(struct run *r, struct run_job *j, enum pi_status status,
                       const struct pi_error *err)
{
    if (status == PI_NOMEM && err->message[0] == '\0') {
        end_error(r, j, "out of memory");
    } else {
        end_error(r, j, err->message[0] ? err->message : pi_status_name(status));
    }
}

static void admit(struct run *r, struct run_job *j)
{
    struct pi_error err = {0};
    struct buf why = {0};
    if (!job_admit(j, r->registry, &why)) {
        end_error(r, j, buf_ok(&why) ? buf_cstr(&why) : "out of memory");
    } else if (r->port.before &&
               r->port.before(r->port.data, &j->call, j->call.args, &err) == RUN_DENY) {
        end_status(r, j, PI_DENIED, &err);
    } else {
        j->state = JOB_READY;
    }
    buf_finish(&why);
}

/* Scheduling */

// What a call sees of the calls before it that have not ended.
struct ahead {
    size_t unfinished;
    bool barrier;   // later calls must wait
    bool unplanned; // a change must wait: the file may be the same
};

static bool hangs(const struct run_job *j, int64_t now, int64_t patience_ms)
{
    return j->state == JOB_PLANNING && now - j->planning_since_ms >= patience_ms;
}

static bool is_barrier(const struct run_job *j, int64_t now)
{
    bool sequential = j->tool.mode == TOOL_SEQUENTIAL;
    if (j->state < JOB_PLANNED) {
        return sequential && !hangs(j, now, PLAN_PATIENCE_MS);
    }
    return j->call.plan.effect == TOOL_EXEC ||
           (j->call.plan.effect == TOOL_OTHER && sequential);
}

static void look_ahead(struct ahead *ahead, const struct run *r, const struct run_job *j,
                       int64_t now)
{
    if (j->state == JOB_ENDED) {
        return;
    }
    ahead->unfinished++;
    ahead->barrier |= r->barriers && is_barrier(j, now);
    ahead->unplanned |=
        j->state < JOB_PLANNED && (r->barriers || !hangs(j, now, ORDER_PATIENCE_MS));
}

static bool has_room(const struct run *r, const struct ahead *ahead)
{
    return !ahead->barrier && (!r->barriers || ahead->unfinished < SIDE_BY_SIDE_MAX);
}

// Reads take turns with changes only, changes with both.
static bool file_is_busy(const struct run *r, size_t at)
{
    const struct tool_plan *plan = &r->jobs[at]->call.plan;
    for (size_t i = 0; plan->target.key && i < at; i++) {
        const struct run_job *other = r->jobs[i];
        const char *key = other->call.plan.target.key;
        bool both_read =
            plan->effect == TOOL_READ && other->call.plan.effect == TOOL_READ;
        if (other->state >= JOB_PLANNED && other->state < JOB_ENDED && key &&
            !both_read && strcmp(key, plan->target.key) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_turn(const struct run *r, size_t at, const struct ahead *ahead,
                     int64_t now)
{
    const struct run_job *j = r->jobs[at];
    enum tool_effect effect = j->call.plan.effect;
    if (ahead->barrier || (r->barriers && is_barrier(j, now) && ahead->unfinished > 0)) {
        return false;
    }
    if (effect == TOOL_CHANGE && ahead->unplanned) {
        return false;
    }
    return (effect != TOOL_CHANGE && effect != TOOL_READ) || !file_is_busy(r, at);
}

/* Steps of one call; each true when it got further */

static bool others_run(const struct run *r)
{
    for (size_t i = 0; i < r->len; i++) {
        if (r->jobs[i]->joinable) {
            return true;
        }
    }
    return false;
}

// No thread to be had: wait for one of ours to end, if there is any.
static bool cannot_begin(struct run *r, struct run_job *j, enum pi_status status,
                         const struct pi_error *err)
{
    if (status == PI_BUSY && others_run(r)) {
        return false;
    }
    end_status(r, j, status, err);
    return true;
}

static bool begin_plan(struct run *r, struct run_job *j, int64_t now)
{
    struct pi_error err = {0};
    enum pi_status status = PI_OK;
    if (!j->call.cancel) {
        status = cancel_create(&j->call.cancel, j->parent, &err);
    }
    if (status) {
        end_status(r, j, status, &err);
        return true;
    }
    if (!j->tool.plan) {
        j->call.plan.effect = TOOL_OTHER;
        j->state = JOB_PLANNED;
        return true;
    }
    status = job_plan(j, &err);
    if (status) {
        return cannot_begin(r, j, status, &err);
    }
    j->planning_since_ms = now;
    j->state = JOB_PLANNING;
    return true;
}

static bool take_plan(struct run *r, struct run_job *j)
{
    if (!j->done) {
        return false;
    }
    j->call.plan = j->work.plan;
    j->work.plan = (struct tool_plan){0};
    if (j->work.status) {
        end_status(r, j, j->work.status, &j->work.error);
    } else {
        j->state = JOB_PLANNED;
    }
    return true;
}

static bool judge(struct run *r, struct run_job *j)
{
    struct pi_error err = {0};
    switch (r->port.judge(r->port.data, &j->call, &err)) {
    case RUN_ALLOW:
        j->state = JOB_ALLOWED;
        break;
    case RUN_DENY:
        end_status(r, j, PI_DENIED, &err);
        break;
    case RUN_ASK:
        j->state = JOB_ASKED;
        r->port.ask(r->port.data, &j->call);
        break;
    }
    return true;
}

static bool start(struct run *r, struct run_job *j)
{
    struct pi_error err = {0};
    if (j->refused) {
        struct buf text = {0};
        buf_adds(&text, "The user did not allow this call");
        buf_addf(&text, j->reason && *j->reason ? ": %s" : ".%s",
                 j->reason ? j->reason : "");
        end_error(r, j, buf_cstr(&text));
        buf_finish(&text);
        return true;
    }
    enum pi_status status = job_execute(j, &err);
    if (status) {
        return cannot_begin(r, j, status, &err);
    }
    j->state = JOB_RUNNING;
    r->port.started(r->port.data, &j->call);
    return true;
}

static bool take_result(struct run *r, struct run_job *j)
{
    if (!j->done) {
        return false;
    }
    j->result = j->work.result;
    j->work.result = (struct tool_result){0};
    if (j->work.status) {
        end_status(r, j, j->work.status, &j->work.error);
    } else {
        end(r, j);
    }
    return true;
}

/* Abort */

static int64_t orphan_after_ms(const struct run_job *j)
{
    enum tool_effect effect = j->call.plan.effect;
    if (j->state == JOB_PLANNING || effect == TOOL_READ || effect == TOOL_CHANGE) {
        return ORPHAN_FILE_MS;
    }
    return cancel_is_urgent(j->call.cancel) ? ORPHAN_URGENT_MS : ORPHAN_COMMAND_MS;
}

static void end_orphan(struct run *r, struct run_job *j)
{
    const struct tool_plan *plan = &j->call.plan;
    const char *path = plan->target.shown ? plan->target.shown : plan->target.path;
    struct buf text = {0};
    if (j->state == JOB_PLANNING || plan->effect == TOOL_READ) {
        buf_adds(&text,
                 "Aborted: the file system does not respond, or the file takes long to "
                 "read. Nothing was changed.");
    } else if (plan->effect == TOOL_CHANGE) {
        buf_addf(&text,
                 "Aborted, but the file system does not respond: the change of %s may "
                 "still be made. Read the file before changing it again.",
                 path ? path : "the file");
    } else {
        buf_addf(&text, "Aborted, but \"%s\" did not stop; it may still be running.",
                 j->name);
    }
    job_orphan(j);
    end_error(r, j, buf_cstr(&text));
    buf_finish(&text);
}

static void set_cancel(struct cancel *c, bool urgent)
{
    if (c && urgent) {
        cancel_set_urgent(c);
    } else if (c) {
        cancel_set(c);
    }
}

// True when the call has ended by it.
static bool abort_call(struct run *r, struct run_job *j, int64_t now)
{
    bool due = j->abort_at_ms >= 0 && now >= j->abort_at_ms;
    if (j->aborted_since_ms < 0 && !due && !cancel_is_set(j->parent)) {
        return false;
    }
    if (j->aborted_since_ms < 0) {
        j->aborted_since_ms = now;
        set_cancel(j->call.cancel, false);
    }
    if (j->state == JOB_PLANNING || j->state == JOB_RUNNING) {
        bool late = !j->done && now - j->aborted_since_ms >= orphan_after_ms(j);
        if (late) {
            end_orphan(r, j);
        } else if (j->state == JOB_RUNNING || !j->done) {
            return false;
        }
    }
    if (j->state == JOB_NEW) {
        (void)job_parse(j, NULL);
    }
    if (j->state != JOB_ENDED) {
        end_error(r, j, "Aborted before it ran; nothing was done.");
    }
    return true;
}

/* Steps of the batch */

static bool advance(struct run *r, size_t at, const struct ahead *ahead, int64_t now)
{
    struct run_job *j = r->jobs[at];
    if (j->state == JOB_ENDED || abort_call(r, j, now)) {
        return false;
    }
    switch (j->state) {
    case JOB_NEW:
        admit(r, j);
        return true;
    case JOB_READY:
        return has_room(r, ahead) && begin_plan(r, j, now);
    case JOB_PLANNING:
        return take_plan(r, j);
    case JOB_PLANNED:
        return has_turn(r, at, ahead, now) && judge(r, j);
    case JOB_ALLOWED:
        return start(r, j);
    case JOB_RUNNING:
        return take_result(r, j);
    case JOB_ASKED:
    case JOB_ENDED:
        break;
    }
    return false;
}

static void sooner(int *wait_ms, int64_t then, int64_t now)
{
    int64_t left = then > now ? then - now : 0;
    if (*wait_ms < 0 || left < *wait_ms) {
        *wait_ms = left < 3600000 ? (int)left : 3600000;
    }
}

static void add_timers(const struct run_job *j, bool last, int *wait_ms, int64_t now)
{
    bool busy = j->state == JOB_PLANNING || j->state == JOB_RUNNING;
    if (busy && j->aborted_since_ms >= 0) {
        sooner(wait_ms, j->aborted_since_ms + orphan_after_ms(j), now);
    } else if (j->abort_at_ms >= 0) {
        sooner(wait_ms, j->abort_at_ms, now);
    }
    if (j->state == JOB_PLANNING && !last) {
        bool passed = hangs(j, now, PLAN_PATIENCE_MS);
        if (!hangs(j, now, ORDER_PATIENCE_MS)) {
            sooner(wait_ms,
                   j->planning_since_ms + (passed ? ORDER_PATIENCE_MS : PLAN_PATIENCE_MS),
                   now);
        }
    }
}

enum pi_status run_step(struct run *r, int *wait_ms)
{
    // A call depends on earlier ones only, so one walk sees every consequence.
    struct ahead ahead = {0};
    int64_t now = clock_mono_ms();
    *wait_ms = -1;
    for (size_t i = 0; i < r->len; i++) {
        while (advance(r, i, &ahead, now)) {
        }
        look_ahead(&ahead, r, r->jobs[i], now);
        if (r->jobs[i]->state != JOB_ENDED) {
            add_timers(r->jobs[i], i + 1 == r->len, wait_ms, now);
        }
    }
    return ahead.unfinished > 0 ? PI_MORE : PI_OK;
}

/* Notes and answers */

void run_take(struct run *r, struct run_note *note)
{
    struct run_job *j = note->job;
    if (note->update && j->state == JOB_RUNNING) {
        r->port.updated(r->port.data, &j->call, note->text);
    } else if (!note->update) {
        // Its last act was to post this note.
        job_join(j);
        j->done = true;
    }
    run_note_drop(note);
}

void run_answer(struct run *r, const char *call_id, bool allow, const char *reason)
{
    for (size_t i = 0; i < r->len; i++) {
        struct run_job *j = r->jobs[i];
        if (j->state == JOB_ASKED && strcmp(j->id, call_id) == 0) {
            j->state = JOB_ALLOWED;
            j->refused = !allow;
            j->reason = reason ? strdup(reason) : NULL;
            return;
        }
    }
}

/* Results */

size_t run_len(const struct run *r)
{
    return r->len;
}

const struct tool_call *run_call(const struct run *r, size_t i)
{
    return &r->jobs[i]->call;
}

struct tool_result *run_result(struct run *r, size_t i)
{
    return &r->jobs[i]->result;
}

static void let_go_of(struct run_job *j)
{
    j->run = NULL;
    job_unref(j);
}

void run_prune(struct run *r)
{
    size_t n = 0;
    while (n < r->len && r->jobs[n]->state == JOB_ENDED) {
        let_go_of(r->jobs[n++]);
    }
    memmove(r->jobs, r->jobs + n, (r->len - n) * sizeof(*r->jobs));
    r->len -= n;
}

void run_destroy(struct run *r)
{
    if (!r) {
        return;
    }
    int64_t now = clock_mono_ms();
    for (size_t i = 0; i < r->len; i++) {
        set_cancel(r->jobs[i]->call.cancel, true);
        if (r->jobs[i]->state == JOB_ASKED) {
            r->port.ask_end(r->port.data, &r->jobs[i]->call);
        }
    }
    for (size_t i = 0; i < r->len; i++) {
        job_join_until(r->jobs[i], now + orphan_after_ms(r->jobs[i]));
        let_go_of(r->jobs[i]);
    }
    cancel_unref(r->cancel);
    free(r->jobs);
    free(r);
}
