#include "agent/review.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "sys/file.h"
#include "sys/path.h"
#include "text/diff.h"
#include "text/utf8.h"

enum {
    CONTEXT_LINES = 3,
    DIFF_MAX = 256 * 1024,           // of a diff, in the question
    COMPARED_MAX = 16 * 1024 * 1024, // a stretch that is longer is not compared
};

void review_unref(struct review *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) != 1) {
        return;
    }
    free(r->call_id);
    free(r->tool_name);
    free(r->path);
    buf_finish(&r->diff);
    buf_finish(&r->reason);
    file_close(&r->done_fd);
    free(r);
}

/* -- the diff -- */

static size_t count_lf(struct sv s)
{
    size_t n = 0;
    for (const char *lf; s.n > 0 && (lf = memchr(s.p, '\n', s.n)); n++) {
        s = sv_from(s, (size_t)(lf - s.p) + 1);
    }
    return n;
}

// Where the line begins that is `lines` above the one at `at`.
static size_t lines_above(struct sv text, size_t at, size_t lines)
{
    while (at > 0 && (text.p[at - 1] != '\n' || lines-- > 0)) {
        at--;
    }
    return at;
}

static size_t lines_below(struct sv text, size_t at, size_t lines)
{
    for (size_t i = 0; i <= lines && at < text.n; i++) {
        const char *lf = memchr(text.p + at, '\n', text.n - at);
        at = lf ? (size_t)(lf - text.p) + 1 : text.n;
    }
    return at;
}

// The part of a text that changes touch, with some lines around it.
struct stretch {
    struct sv before;
    struct buf after;
    size_t first_line;
};

static void stretch_make(struct stretch *out, struct sv text,
                         const struct host_change *changes, size_t len)
{
    size_t end = changes[len - 1].offset + changes[len - 1].length;
    size_t from = lines_above(text, changes[0].offset, CONTEXT_LINES);
    size_t to = lines_below(text, end, CONTEXT_LINES);
    out->before = sv_make(text.p + from, to - from);
    out->first_line = 1 + count_lf(sv_make(text.p, from));
    for (size_t i = 0; i < len; i++) {
        buf_add(&out->after, text.p + from, changes[i].offset - from);
        buf_addsv(&out->after, changes[i].text);
        from = changes[i].offset + changes[i].length;
    }
    buf_add(&out->after, text.p + from, to - from);
}

static enum pi_status write_diff(struct review *r, const char *shown,
                                 const struct stretch *s, struct pi_error *err)
{
    if (s->before.n + s->after.len > COMPARED_MAX) {
        r->diff_omitted = s->after.len;
        return PI_OK;
    }
    struct diff_window window = {
        .before = s->before,
        .after = buf_sv(&s->after),
        .old_first_line = s->first_line,
        .new_first_line = s->first_line,
    };
    enum pi_status status =
        diff_write_patch(&r->diff, shown, &window, 1, CONTEXT_LINES, err);
    if (!status && !buf_ok(&r->diff)) {
        status = error_nomem(err);
    }
    if (!status && r->diff.len > DIFF_MAX) {
        size_t keep = utf8_floor(buf_sv(&r->diff), DIFF_MAX);
        r->diff_omitted = r->diff.len - keep;
        r->diff.len = keep;
    }
    return status;
}

static enum pi_status make_diff(struct review *r, const struct tool_call *call,
                                const struct host_snapshot *snapshot,
                                const struct host_change *changes, size_t len,
                                struct pi_error *err)
{
    struct stretch s = {0};
    if (len == 0) {
        return PI_OK;
    }
    stretch_make(&s, buf_sv(&snapshot->text), changes, len);
    enum pi_status status =
        buf_ok(&s.after)
            ? write_diff(r, path_relative(r->path, call->context->cwd), &s, err)
            : error_nomem(err);
    buf_finish(&s.after);
    return status;
}

/* -- the call's thread -- */

static enum pi_status create(struct review **out, const struct tool_call *call,
                             struct pi_error *err)
{
    struct review *r = calloc(1, sizeof *r);
    if (!r) {
        return error_nomem(err);
    }
    bool ok = true;
    atomic_init(&r->refs, 1);
    r->call_id = agent_copy(call->id, &ok);
    r->tool_name = agent_copy(call->name, &ok);
    r->path = agent_copy(call->plan.target.path, &ok);
    r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum pi_status status = PI_OK;
    if (!ok) {
        status = error_nomem(err);
    } else if (r->done_fd < 0) {
        status = error_errno(err, errno, "no descriptor to wait for the user");
    }
    if (status) {
        review_unref(r);
        return status;
    }
    *out = r;
    return PI_OK;
}

static enum pi_status post(struct pi_agent *a, enum command_type type, struct review *r,
                           struct pi_error *err)
{
    struct command *c = command_create(type);
    if (!c) {
        return error_nomem(err);
    }
    atomic_fetch_add(&r->refs, 1);
    c->review = r;
    return mailbox_command(&a->mailbox, c, err);
}

static bool answered(struct review *r, struct cancel *cancel)
{
    struct pollfd fds[2] = {
        {.fd = r->done_fd, .events = POLLIN},
        {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN},
    };
    uint64_t count;
    return poll(fds, 2, -1) > 0 && fds[0].revents != 0 &&
           read(r->done_fd, &count, sizeof count) == (ssize_t)sizeof count;
}

static enum pi_status wait_for(struct pi_agent *a, struct review *r,
                               const struct tool_call *call, struct pi_error *err)
{
    while (!answered(r, call->cancel)) {
        if (cancel_is_set(call->cancel)) {
            (void)post(a, COMMAND_REVIEW_END, r, NULL);
            return error_set(err, PI_ABORTED,
                             "Aborted while the change waited for the user's review; "
                             "nothing was changed.");
        }
    }
    if (r->allowed) {
        return PI_OK;
    }
    bool reason = r->reason.len > 0;
    return error_set(err, PI_DENIED,
                     "The user looked at this change of %s and refused it, so nothing "
                     "was changed.%s%s",
                     call->plan.target.shown, reason ? " The user says: " : "",
                     reason ? buf_cstr(&r->reason) : "");
}

enum pi_status review_ask(void *data, const struct tool_call *call,
                          const struct host_snapshot *snapshot,
                          const struct host_change *changes, size_t len,
                          struct pi_error *err)
{
    struct pi_agent *a = data;
    if (!atomic_load(&a->review_first)) {
        return PI_OK;
    }
    struct review *r = NULL;
    enum pi_status status = create(&r, call, err);
    if (!status) {
        status = make_diff(r, call, snapshot, changes, len, err);
    }
    if (!status) {
        status = post(a, COMMAND_REVIEW, r, err);
    }
    if (!status) {
        status = wait_for(a, r, call, err);
    }
    review_unref(r);
    return status;
}

void review_answer(struct review *r, bool allow, const char *reason)
{
    uint64_t one = 1;
    r->allowed = allow;
    buf_adds(&r->reason, reason ? reason : "");
    ssize_t ignored = write(r->done_fd, &one, sizeof one);
    (void)ignored;
}
