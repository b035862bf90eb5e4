#include "host/call.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/encoding.h"
#include "host/line_changes.h"
#include "sys/clock.h"
#include "sys/path.h"

// A call that the face works on when everything is aborted is most likely done in a
// moment, and then its true outcome can be told. Well below the time after which the
// runner gives a thread up.
enum { SETTLE_MS = 100, PIECE = 64 * 1024 };

/* --------------------------------------------------------------------------- calls -- */

enum pi_status host_call_create(struct host_call **out, enum pi_host_op op,
                                const char *path, struct pi_error *err)
{
    struct host_call *c = calloc(1, sizeof *c);
    if (!c) {
        return error_nomem(err);
    }
    atomic_init(&c->refs, 1);
    c->op = op;
    c->path = strdup(path);
    c->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum pi_status status = PI_OK;
    if (!c->path) {
        status = error_nomem(err);
    } else if (c->done_fd < 0) {
        status = error_errno(err, errno, "no descriptor to wait for the editor");
    }
    if (status != PI_OK) {
        host_call_unref(c);
        return status;
    }
    *out = c;
    return PI_OK;
}

struct host_call *host_call_ref(struct host_call *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void host_call_unref(struct host_call *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1) {
        return;
    }
    if (c->hold.release) {
        c->hold.release(c->hold.data);
    }
    free(c->path);
    free(c->changes);
    free(c->bytes);
    free(c->tool);
    buf_finish(&c->arguments);
    buf_finish(&c->text);
    file_close(&c->done_fd);
    free(c);
}

// Copies changes with their texts one behind the other.
static bool set_changes(struct host_call *c, const struct host_change *changes,
                        size_t len)
{
    size_t total = 0;
    for (size_t i = 0; i < len; i++) {
        total += changes[i].text.n;
    }
    c->changes = calloc(len + 1, sizeof *c->changes);
    c->bytes = malloc(total + 1);
    if (!c->changes || !c->bytes) {
        return false;
    }
    char *at = c->bytes;
    for (size_t i = 0; i < len; i++) {
        struct sv text = changes[i].text;
        if (text.n > 0) {
            memcpy(at, text.p, text.n);
        }
        c->changes[i] = (struct pi_change){.offset = changes[i].offset,
                                           .length = changes[i].length,
                                           .text = at,
                                           .text_len = text.n};
        at += text.n;
    }
    *at = '\0';
    c->changes_len = len;
    return true;
}

void host_call_fill(struct host_call *c, const struct pi_host_answer *answer)
{
    c->answer_version = answer->version;
    c->unsaved = answer->unsaved;
    c->saved = answer->saved;
    c->status = answer->status;
    if (answer->status != PI_OK) {
        const char *words = answer->message ? answer->message : "";
        (void)error_set(&c->error, answer->status, "%s",
                        *words ? words : pi_status_name(answer->status));
        return;
    }
    buf_add(&c->text, answer->text, answer->text_len);
    c->altered = c->op == PI_HOST_APPLY && answer->text && buf_ok(&c->text);
    // A change is made, whether there is memory for its text or not.
    if (c->op != PI_HOST_APPLY && !buf_ok(&c->text)) {
        c->status = error_nomem(&c->error);
    }
}

/* ------------------------------------------------------------------------- waiting -- */

enum outcome { ANSWERED, LEFT, UNCONFIRMED };

// Whether the call is settled, waiting for it up to timeout_ms (-1 = for ever).
static bool settled(struct host_call *c, struct cancel *cancel, int timeout_ms)
{
    struct pollfd fds[2] = {
        {.fd = c->done_fd, .events = POLLIN},
        {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN},
    };
    uint64_t count;
    return poll(fds, 2, timeout_ms) > 0 && fds[0].revents != 0 &&
           read(c->done_fd, &count, sizeof count) == (ssize_t)sizeof count;
}

static bool settled_within(struct host_call *c, int ms)
{
    int64_t end = clock_mono_ms() + ms;
    for (int64_t left = ms; left >= 0; left = end - clock_mono_ms()) {
        if (settled(c, NULL, (int)left)) {
            return true;
        }
        if (left == 0) {
            break;
        }
    }
    return false;
}

static enum outcome leave(struct host_face *f, struct host_call *c,
                          struct host_hold *hold)
{
    const struct host_port *port = &f->port;
    if (port->recall(port->data, c)) {
        return LEFT;
    }
    if (settled_within(c, SETTLE_MS)) {
        return ANSWERED;
    }
    if (!port->leave(port->data, c, hold)) {
        return UNCONFIRMED;
    }
    return settled_within(c, 0) ? ANSWERED : LEFT;
}

// Waits until the call is settled or nobody wants it any more.
static enum pi_status wait_for(struct host_face *f, struct host_call *c,
                               struct cancel *cancel, struct host_hold *hold,
                               enum outcome *outcome, struct pi_error *err)
{
    int64_t deadline = clock_mono_ms() + f->deadline_ms;
    bool queued = true; // as far as we know
    *outcome = ANSWERED;
    for (;;) {
        int64_t left = deadline - clock_mono_ms();
        int timeout = !queued            ? -1
                      : left < 0         ? 0
                      : left > INT32_MAX ? INT32_MAX
                                         : (int)left;
        if (settled(c, cancel, timeout)) {
            return PI_OK;
        }
        if (cancel_is_set(cancel)) {
            *outcome = leave(f, c, hold);
            return *outcome == ANSWERED ? PI_OK : cancel_check(cancel, err);
        }
        if (queued && clock_mono_ms() >= deadline) {
            if (f->port.recall(f->port.data, c)) {
                *outcome = LEFT;
                return error_set(
                    err, PI_TIMEOUT,
                    "the editor did not answer within %lld ms: it is busy or "
                    "waits for the user. Nothing was done; try again",
                    (long long)f->deadline_ms);
            }
            queued = false; // the face has it: from here on it may take its time
        }
    }
}

// Posts the call and waits for its answer. PI_OK: c holds it, whatever it is.
static enum pi_status run_call(struct host_face *f, struct host_call *c,
                               struct cancel *cancel, struct host_hold *hold,
                               bool *unconfirmed, struct pi_error *err)
{
    enum outcome outcome = LEFT;
    *unconfirmed = false;
    enum pi_status status = cancel_check(cancel, err);
    if (status != PI_OK) {
        return status;
    }
    status = f->port.post(f->port.data, c);
    if (status != PI_OK) {
        return error_set(err, status, "the editor cannot be asked: %s",
                         pi_status_name(status));
    }
    status = wait_for(f, c, cancel, hold, &outcome, err);
    *unconfirmed = outcome == UNCONFIRMED;
    return status;
}

// The status of the answer, with its words.
static enum pi_status answer_status(const struct host_call *c, struct pi_error *err)
{
    if (c->status != PI_OK && err) {
        *err = c->error;
        err->code = c->status;
    }
    return c->status;
}

// Asks for the text of a buffer. PI_HOST_NOT_OPEN: there is none, ask the disk.
static enum pi_status ask_text(struct host_face *f, enum pi_host_op op,
                               const struct host_target *target, struct host_call **out,
                               struct cancel *cancel, struct pi_error *err)
{
    struct host_call *c = NULL;
    bool unconfirmed = false;
    // Editors have buffers of files; a device or folder is refused by the disk at once.
    if (target->exists && !S_ISREG(target->mode)) {
        return PI_HOST_NOT_OPEN;
    }
    enum pi_status status = host_call_create(&c, op, target->path, err);
    if (status == PI_OK) {
        status = run_call(f, c, cancel, NULL, &unconfirmed, err);
    }
    if (status == PI_OK) {
        status = answer_status(c, err);
    }
    if (status != PI_OK) {
        host_call_unref(c);
        return status;
    }
    *out = c;
    return PI_OK;
}

/* ----------------------------------------------------------------------- operations --
 */

static enum pi_status stream_text(struct sv text, host_sink sink, void *sink_data,
                                  struct cancel *cancel, struct pi_error *err)
{
    while (text.n > 0) {
        size_t n = text.n < PIECE ? text.n : PIECE;
        enum pi_status status = cancel_check(cancel, err);
        if (status != PI_OK) {
            return status;
        }
        if (!sink(sink_data, sv_make(text.p, n))) {
            break;
        }
        text = sv_from(text, n);
    }
    return PI_OK;
}

static enum pi_status face_read(struct host *h, const struct host_target *target,
                                uint64_t offset, host_sink sink, void *sink_data,
                                struct host_origin *origin, struct file_stamp *stamp,
                                struct cancel *cancel, struct pi_error *err)
{
    struct host_face *f = (struct host_face *)h;
    struct host_call *c = NULL;
    enum pi_status status = ask_text(f, PI_HOST_READ, target, &c, cancel, err);
    if (status == PI_HOST_NOT_OPEN) {
        struct host *disk = host_posix();
        return disk->ops->read(disk, target, offset, sink, sink_data, origin, stamp,
                               cancel, err);
    }
    if (status != PI_OK) {
        return status;
    }
    if (origin) {
        *origin = (struct host_origin){.buffer = true, .unsaved = c->unsaved};
    }
    if (stamp) {
        *stamp = (struct file_stamp){0};
    }
    size_t from = offset < c->text.len ? (size_t)offset : c->text.len;
    status = stream_text(sv_from(buf_sv(&c->text), from), sink, sink_data, cancel, err);
    host_call_unref(c);
    return status;
}

static enum pi_status face_snapshot(struct host *h, const struct host_target *target,
                                    struct host_snapshot *out, struct cancel *cancel,
                                    struct pi_error *err)
{
    struct host_face *f = (struct host_face *)h;
    struct host_call *c = NULL;
    enum pi_status status = ask_text(f, PI_HOST_SNAPSHOT, target, &c, cancel, err);
    if (status == PI_HOST_NOT_OPEN) {
        struct host *disk = host_posix();
        return disk->ops->snapshot(disk, target, out, cancel, err);
    }
    if (status != PI_OK) {
        return status;
    }
    *out = (struct host_snapshot){
        .text = c->text, // moved: a settled call belongs to the one who waited for it
        .origin = {.buffer = true, .unsaved = c->unsaved},
        .version = c->answer_version,
    };
    c->text = (struct buf){0};
    host_call_unref(c);
    return PI_OK;
}

// Moves the answer of a change to *applied. The change was made, so a want of memory only
// loses how the editor altered it.
static void take_answer(struct host_applied *applied, struct host_call *c,
                        const struct host_snapshot *before)
{
    *applied = (struct host_applied){.in_editor = true, .saved = c->saved};
    if (!c->altered || line_changes_make(&applied->changes, &applied->changes_len,
                                         buf_sv(&before->text), buf_sv(&c->text), NULL)) {
        return;
    }
    if (!applied->changes) { // the editor took all back
        applied->changes = calloc(1, sizeof *applied->changes);
    }
    applied->memory = c->text;
    c->text = (struct buf){0};
}

static enum pi_status apply_in_editor(struct host_face *f, struct host_call *c,
                                      const struct host_snapshot *snapshot,
                                      struct host_hold *hold,
                                      struct host_applied *applied, struct cancel *cancel,
                                      struct pi_error *err)
{
    bool unconfirmed = false;
    enum pi_status status = run_call(f, c, cancel, hold, &unconfirmed, err);
    if (unconfirmed) {
        applied->unconfirmed = true;
        return error_set(
            err, PI_ABORTED,
            "aborted: the change of %s was sent to the editor, not confirmed", c->path);
    }
    if (status == PI_OK) {
        status = answer_status(c, err);
    }
    if (status == PI_HOST_NOT_OPEN) {
        return error_set(err, PI_STALE, "the editor closed %s just now", c->path);
    }
    if (status == PI_OK) {
        take_answer(applied, c, snapshot);
    }
    return status;
}

// The disk makes folders itself; an editor cannot save into one that is missing.
static enum pi_status make_folder(const struct host_target *target,
                                  const struct host_snapshot *snapshot,
                                  struct pi_error *err)
{
    if (target->exists || snapshot->origin.unsaved) {
        return PI_OK; // there is one, or nothing will be saved
    }
    char *dir = path_dir(target->path);
    enum pi_status status = dir ? file_make_dirs(dir, 0777, err) : error_nomem(err);
    free(dir);
    return status;
}

static enum pi_status face_apply(struct host *h, const struct host_target *target,
                                 const struct host_snapshot *snapshot,
                                 const struct host_change *changes, size_t len,
                                 struct host_hold *hold, struct host_applied *applied,
                                 struct cancel *cancel, struct pi_error *err)
{
    struct host_call *c = NULL;
    if (!snapshot->origin.buffer) {
        struct host *disk = host_posix();
        return disk->ops->apply(disk, target, snapshot, changes, len, hold, applied,
                                cancel, err);
    }
    *applied = (struct host_applied){0};
    enum pi_status status = encoding_check(buf_sv(&snapshot->text), changes, len, err);
    if (status == PI_OK) {
        status = make_folder(target, snapshot, err);
    }
    if (status == PI_OK) {
        status = host_call_create(&c, PI_HOST_APPLY, target->path, err);
    }
    if (status != PI_OK) {
        return status;
    }
    c->version = snapshot->version;
    status = set_changes(c, changes, len)
                 ? apply_in_editor((struct host_face *)h, c, snapshot, hold, applied,
                                   cancel, err)
                 : error_nomem(err);
    host_call_unref(c);
    return status;
}

// Posts a call that is no file's and waits for its answer.
static enum pi_status ask_other(struct host_face *f, struct host_call *c,
                                struct cancel *cancel, struct pi_error *err)
{
    bool unconfirmed = false;
    enum pi_status status = buf_ok(&c->arguments)
                                ? run_call(f, c, cancel, NULL, &unconfirmed, err)
                                : error_nomem(err);
    return status == PI_OK ? answer_status(c, err) : status;
}

static enum pi_status face_call_tool(struct host *h, const struct host_tool_call *call,
                                     struct buf *result, struct cancel *cancel,
                                     struct pi_error *err)
{
    struct host_call *c = NULL;
    enum pi_status status = host_call_create(&c, PI_HOST_CALL_TOOL, call->cwd, err);
    if (status != PI_OK) {
        return status;
    }
    c->tool = strdup(call->name);
    buf_addsv(&c->arguments, call->arguments);
    status =
        c->tool ? ask_other((struct host_face *)h, c, cancel, err) : error_nomem(err);
    if (status == PI_HOST_NOT_OPEN) {
        status = error_set(err, PI_NOT_FOUND, "the editor has no tool %s any more",
                           call->name);
    }
    if (status == PI_OK) {
        buf_addsv(result, buf_sv(&c->text));
    }
    host_call_unref(c);
    return status;
}

static enum pi_status face_before_command(struct host *h, const char *cwd,
                                          const char *command, struct cancel *cancel,
                                          struct pi_error *err)
{
    struct host_call *c = NULL;
    enum pi_status status = host_call_create(&c, PI_HOST_BEFORE_COMMAND, cwd, err);
    if (status != PI_OK) {
        return status;
    }
    buf_adds(&c->arguments, command);
    status = ask_other((struct host_face *)h, c, cancel, err);
    host_call_unref(c);
    return status == PI_HOST_NOT_OPEN ? PI_OK : status;
}

static const struct host_ops face_ops = {
    .read = face_read,
    .snapshot = face_snapshot,
    .apply = face_apply,
    .call_tool = face_call_tool,
    .before_command = face_before_command,
};

void host_face_init(struct host_face *f, const struct host_port *port,
                    int64_t deadline_ms)
{
    *f = (struct host_face){
        .host = {.ops = &face_ops},
        .port = *port,
        .deadline_ms = deadline_ms,
    };
}
