#include "sys/process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/guard_handle.h"

enum {
    CHUNK_BYTES = 256 * 1024,
    DRAIN_MS = 100,
    KILLED_MS = 1000, // how long after KILL everything must be gone
    LIST_MS = 1000,
    URGENT_POLL_MS = 50,
};

struct run {
    const struct process_request *request;
    const struct process_sink *sink;
    struct cancel *cancel;
    struct process_result *result;
    struct guard_handle guard;
    int output; // read end, -1 after its end
    pid_t shell;
    char *chunk;
    int64_t timeout_at; // INT64_MAX: none
    int64_t call_at;    // when the sink wants to be called
    int64_t end_at;     // of the drain, or of patience after ordering the end
    bool exited;
    bool more; // other processes still run after the shell
    bool ending;
    bool urgent;
    enum pi_status failure; // the shell did not start
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void feed(struct run *run, size_t n)
{
    int again = run->sink->feed(run->sink->data, sv_make(run->chunk, n));
    run->call_at = again < 0 ? INT64_MAX : clock_mono_ms() + again;
}

/** False when nothing could be read now. */
static bool read_output(struct run *run)
{
    if (run->output < 0) {
        return false;
    }
    ssize_t n = read(run->output, run->chunk, CHUNK_BYTES);
    if (n > 0) {
        feed(run, (size_t)n);
        return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(&run->output);
    }
    return false;
}

static void set_exited(struct run *run, const struct guard_report *report)
{
    struct process_result *result = run->result;
    run->exited = true;
    run->more = report->more != 0;
    if (run->ending) {
        return;
    }
    run->end_at = clock_mono_ms() + DRAIN_MS;
    if (WIFSIGNALED(report->value)) {
        result->end = PROCESS_SIGNALED;
        result->code = WTERMSIG(report->value);
    } else {
        result->end = PROCESS_EXITED;
        result->code = WEXITSTATUS(report->value);
    }
}

/** False when the guard is gone. */
static bool take_report(struct run *run, struct pi_error *err)
{
    struct guard_report report;
    ssize_t n = recv(run->guard.control, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n != sizeof report) {
        return false;
    }
    const struct process_request *r = run->request;
    switch (report.type) {
    case GUARD_STARTED:
        run->shell = report.value;
        break;
    case GUARD_NO_CHDIR:
        run->failure = error_errno(err, report.value,
                                   "cannot enter the working directory %s", r->cwd);
        break;
    case GUARD_NO_EXEC:
        run->failure =
            error_errno(err, report.value, "cannot run the shell %s", r->shell);
        break;
    case GUARD_EXITED:
        set_exited(run, &report);
        break;
    case GUARD_LEFT:
        run->result->left = (unsigned)report.value;
        memcpy(run->result->left_names, report.text, sizeof report.text);
        break;
    default:
        break;
    }
    return true;
}

static void order_end(struct run *run, bool urgent)
{
    int grace = urgent ? GUARD_URGENT_GRACE_MS : GUARD_GRACE_MS;
    run->ending = true;
    run->urgent = urgent;
    run->end_at = clock_mono_ms() + grace + KILLED_MS;
    guard_order(&run->guard, GUARD_END, grace);
}

static void check_end(struct run *run)
{
    if (run->ending) {
        if (!run->urgent && cancel_is_urgent(run->cancel)) {
            order_end(run, true);
        }
    } else if (cancel_is_set(run->cancel)) {
        run->result->end = PROCESS_ABORTED;
        order_end(run, cancel_is_urgent(run->cancel));
    } else if (clock_mono_ms() >= run->timeout_at) {
        run->result->end = PROCESS_TIMED_OUT;
        order_end(run, false);
    }
}

static int wait_ms(const struct run *run)
{
    int64_t until = run->call_at;
    if (!run->exited && !run->ending && run->timeout_at < until) {
        until = run->timeout_at;
    }
    if ((run->exited || run->ending) && run->end_at < until) {
        until = run->end_at;
    }
    if (until == INT64_MAX) {
        return -1;
    }
    int64_t wait = until - clock_mono_ms();
    // The token cannot wake twice, so a second, urgent wish is looked for.
    if (run->ending && wait > URGENT_POLL_MS) {
        wait = URGENT_POLL_MS;
    }
    return wait < 0 ? 0 : wait > INT_MAX ? INT_MAX : (int)wait;
}

static bool is_over(const struct run *run)
{
    if (run->ending) {
        return clock_mono_ms() >= run->end_at;
    }
    return run->exited && (run->output < 0 || clock_mono_ms() >= run->end_at);
}

/** Until the shell has exited and is drained, or all is ended. False: the guard is gone.
 */
static bool follow(struct run *run, struct pi_error *err)
{
    bool alive = true;
    while (alive && !is_over(run)) {
        bool watch_cancel = run->cancel && !run->exited && !run->ending;
        struct pollfd polls[] = {
            {.fd = run->guard.control, .events = POLLIN},
            {.fd = run->output, .events = POLLIN},
            {.fd = watch_cancel ? cancel_fd(run->cancel) : -1, .events = POLLIN},
        };
        poll(polls, 3, wait_ms(run));
        if (polls[1].revents) {
            read_output(run);
        }
        if (polls[0].revents) {
            alive = take_report(run, err);
        }
        if (!run->exited || run->ending) {
            check_end(run);
        }
        if (clock_mono_ms() >= run->call_at) {
            feed(run, 0);
        }
    }
    return alive;
}

/** What the ended writers left in the pipe; not for long in case that one lives on. */
static void read_rest(struct run *run)
{
    int64_t until = clock_mono_ms() + DRAIN_MS;
    int64_t wait = DRAIN_MS;
    while (run->output >= 0 && wait > 0) {
        struct pollfd p = {.fd = run->output, .events = POLLIN};
        poll(&p, 1, (int)wait);
        read_output(run);
        wait = until - clock_mono_ms();
    }
}

/** The shell has ended, others live on: they become a job or are ended. */
static void leave_behind(struct run *run, struct pi_error *err)
{
    struct process_result *result = run->result;
    struct guard_handle *guard = &run->guard;
    bool kept = false;
    guard_order(guard, GUARD_LIST, 0);
    int64_t until = clock_mono_ms() + LIST_MS;
    while (result->left == 0 && clock_mono_ms() < until) {
        struct pollfd p = {.fd = guard->control, .events = POLLIN};
        poll(&p, 1, LIST_MS);
        if (!take_report(run, err)) {
            break;
        }
    }
    if (result->left > 0 && run->request->jobs) {
        result->left_may_write = run->output >= 0;
        if (run->output >= 0 && run->sink->handover) {
            run->sink->handover(run->sink->data);
        }
        guard_order(guard, GUARD_TAKE, 0);
        kept = process_jobs_add(run->request->jobs, guard);
    }
    if (kept) {
        *guard = (struct guard_handle){.control = -1, .pidfd = -1};
    } else {
        result->left = 0;
        guard_order(guard, GUARD_END, GUARD_URGENT_GRACE_MS);
        guard_gone(guard, GUARD_URGENT_GRACE_MS + KILLED_MS);
    }
}

/** The guard does not obey or was killed by the command: end what can be reached. */
static void kill_group(const struct run *run)
{
    if (run->shell > 0) {
        kill(-run->shell, SIGKILL);
    }
}

static int64_t deadline(double timeout_s)
{
    const double longest_s = 1e9;
    if (!(timeout_s > 0)) {
        return INT64_MAX;
    }
    if (timeout_s > longest_s) {
        timeout_s = longest_s;
    }
    return clock_mono_ms() + (int64_t)(timeout_s * 1000) + 1;
}

static enum pi_status conclude(struct run *run, bool alive, struct pi_error *err)
{
    if (run->failure != PI_OK) {
        return run->failure;
    }
    if (!alive && run->shell == 0 && !run->ending) {
        return error_set(err, PI_IO, "%s ended at once; is it of this version of pi?",
                         run->request->guard_path);
    }
    if (!alive && !run->exited && !run->ending) {
        run->result->end = PROCESS_LOST;
        kill_group(run);
    } else if (alive && run->ending) {
        kill_group(run);
        guard_kill(&run->guard);
    }
    if (run->ending || !run->more || !alive) {
        read_rest(run);
    } else {
        leave_behind(run, err);
    }
    return PI_OK;
}

enum pi_status process_run(const struct process_request *request,
                           const struct process_sink *sink, struct cancel *cancel,
                           struct process_result *result, struct pi_error *err)
{
    *result = (struct process_result){0};
    if (cancel_is_set(cancel)) {
        result->end = PROCESS_ABORTED;
        return PI_OK;
    }
    struct run run = {
        .request = request,
        .sink = sink,
        .cancel = cancel,
        .result = result,
        .guard = {.control = -1, .pidfd = -1},
        .output = -1,
        .timeout_at = deadline(request->timeout_s),
        .call_at = INT64_MAX,
        .chunk = malloc(CHUNK_BYTES),
    };
    if (!run.chunk) {
        return error_nomem(err);
    }
    enum pi_status status = guard_start(&run.guard, &run.output, request, err);
    if (status == PI_OK) {
        bool alive = follow(&run, err);
        status = conclude(&run, alive, err);
    }
    if (run.guard.control >= 0) {
        // Ends a guard that has nothing left to do.
        close_fd(&run.guard.control);
        guard_reap(&run.guard);
    }
    close_fd(&run.output);
    free(run.chunk);
    return status;
}
