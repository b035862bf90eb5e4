#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/map.h"
#include "exit.h"
#include "mode.h"
#include "text/framer.h"

// `pi tool --jsonl`: calls come as lines on stdin and run side by side; each is answered
// by one line. The agent knows a call by its number here, so that the ids of the other
// side need not be unique.

enum {
    LINE_MAX_BYTES = 256 * 1024 * 1024,
    IN_FLIGHT_MAX = 64, // then stdin waits: a file of a million calls is no reason to
                        // start a million threads
    PIECE = 64 * 1024,
};

struct lines {
    struct app *app;
    struct framer framer;
    struct map ids; // number -> id of the other side, owned
    size_t in_flight;
    unsigned long long number;
    bool ended;        // stdin is at its end
    struct buf piece;  // bytes read but not yet cut into lines
    struct sv pending; // the rest of piece
};

static void write_line(struct lines *l, const struct json *answer)
{
    struct out *out = &l->app->out;
    struct buf b = {0};
    json_write(&b, answer);
    buf_addc(&b, '\n');
    if (buf_ok(&b)) {
        out_add(out, buf_sv(&b));
    } else {
        mainloop_leave(&l->app->loop, EXIT_FAILED);
    }
    buf_finish(&b);
}

static struct json *id_node(const char *id)
{
    return id ? json_new_string(sv_of(id)) : json_new_null();
}

// An error that no tool saw. id NULL: the line did not give one.
static void refuse(struct lines *l, const char *id, const char *message)
{
    struct json *block = json_new_object();
    struct json *content = json_new_array();
    struct json *answer = json_new_object();
    bool ok = json_set_str(block, "type", "text") && json_set_str(block, "text", message);
    ok = json_push(content, block) && ok;
    ok = json_set(answer, "id", id_node(id)) && ok;
    ok = json_set(answer, "content", content) && ok;
    ok = ok && json_set(answer, "details", json_new_null()) &&
         json_set_bool(answer, "isError", true) && json_set_str(answer, "text", message);
    if (ok) {
        write_line(l, answer);
    } else {
        mainloop_leave(&l->app->loop, EXIT_FAILED);
    }
    json_destroy(answer);
}

static void join_text(struct buf *b, const struct json *content)
{
    bool first = true;
    for (struct json *block = json_first(content); block; block = json_next(block)) {
        const char *text = json_get_str(block, "text");
        if (text) {
            buf_adds(b, first ? "" : "\n");
            buf_adds(b, text);
            first = false;
        }
    }
}

// result is taken apart.
static void answer_call(struct lines *l, const char *id, struct json *result, bool failed)
{
    struct json *answer = json_new_object();
    struct json *content = json_remove(result, "content");
    struct json *details = json_remove(result, "details");
    struct buf text = {0};
    join_text(&text, content);
    bool ok = json_set(answer, "id", id_node(id));
    ok = json_set(answer, "content", content ? content : json_new_array()) && ok;
    ok = json_set(answer, "details", details ? details : json_new_null()) && ok;
    ok = ok && json_set_bool(answer, "isError", failed) &&
         json_set(answer, "text", json_new_string(buf_sv(&text)));
    if (ok && buf_ok(&text)) {
        write_line(l, answer);
    } else {
        refuse(l, id, "the result is lost: out of memory");
    }
    buf_finish(&text);
    json_destroy(answer);
}

static void on_event(void *data, const pi_event *event)
{
    struct lines *l = data;
    if (pi_event_type(event) != PI_EVENT_TOOL_END) {
        app_notice(event);
        return;
    }
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    if (!text || json_parse(&root, sv_make(text, len), NULL, NULL) != PI_OK) {
        mainloop_leave(&l->app->loop, EXIT_FAILED);
        return;
    }
    const char *number = json_get_str(root, "toolCallId");
    char *id = map_remove(&l->ids, sv_of(number));
    if (id) {
        l->in_flight--;
        answer_call(l, id, json_get(root, "result"),
                    json_get_bool(root, "isError", false));
        free(id);
    }
    json_destroy(root);
}

// Any scalar will do as an id; it comes back as a string.
static char *take_id(const struct json *line)
{
    const struct json *id = json_get(line, "id");
    if (json_str(id)) {
        return strdup(json_str(id));
    }
    enum json_type type = json_type(id);
    if (type != JSON_NUMBER && type != JSON_BOOL) {
        return NULL;
    }
    struct buf b = {0};
    json_write(&b, id);
    return buf_take(&b);
}

static enum pi_status start_call(struct lines *l, const struct json *line, char *id,
                                 struct pi_error *err)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", ++l->number);
    struct buf arguments = {0};
    const struct json *args = json_get(line, "args");
    if (args) {
        json_write(&arguments, args);
    } else {
        buf_adds(&arguments, "{}");
    }
    enum pi_status status = PI_NOMEM;
    if (!buf_ok(&arguments) || !map_set(&l->ids, sv_of(number), id)) {
        error_nomem(err);
        goto out;
    }
    double after_ms = json_get_num(line, "abortAfterMs", -1);
    struct pi_tool_call call = {
        .id = number,
        .name = json_get_str(line, "tool"),
        .arguments = buf_cstr(&arguments),
        .arguments_len = arguments.len,
        .cwd = json_get_str(line, "cwd"),
        .abort_after_ms = after_ms >= 0 && after_ms < 1e15 ? (int64_t)after_ms : -1,
    };
    status = pi_agent_call_tool(l->app->loop.agent, &call, err);
    if (status == PI_OK) {
        l->in_flight++;
    } else {
        map_remove(&l->ids, sv_of(number));
    }
out:
    buf_finish(&arguments);
    return status;
}

static const char *line_problem(const struct json *line, unsigned repairs, const char *id)
{
    const char *cwd = json_get_str(line, "cwd");
    if (json_type(line) != JSON_OBJECT) {
        return "a call is a JSON object: {\"id\":...,\"tool\":...,\"args\":{...}}";
    }
    if (!id) {
        return "the call has no \"id\"; give it a string or a number";
    }
    if (!json_get_str(line, "tool")) {
        return "the call has no \"tool\"; give it the name of a tool";
    }
    if (json_get(line, "cwd") && (!cwd || cwd[0] != '/')) {
        return "\"cwd\" must be an absolute path";
    }
    const struct json *after = json_get(line, "abortAfterMs");
    if (after &&
        (json_type(after) != JSON_NUMBER || json_get_num(line, "abortAfterMs", -1) < 0)) {
        return "\"abortAfterMs\" must be a number of milliseconds, 0 or more";
    }
    if (repairs & JSON_HAD_NUL) {
        return "the call holds a NUL character (\\u0000), which no tool can take";
    }
    return NULL;
}

static void take_line(struct lines *l, struct sv text)
{
    struct json *line = NULL;
    struct pi_error err = {0};
    unsigned repairs = 0;
    if (json_parse(&line, text, &repairs, &err) != PI_OK) {
        refuse(l, NULL, err.message);
        return;
    }
    char *id = take_id(line);
    const char *problem = line_problem(line, repairs, id);
    if (problem) {
        refuse(l, id, problem);
    } else if (start_call(l, line, id, &err) == PI_OK) {
        id = NULL; // the map holds it
    } else {
        refuse(l, id, err.message);
    }
    free(id);
    json_destroy(line);
}

static bool is_blank(struct sv line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != ' ' && line.p[i] != '\t') {
            return false;
        }
    }
    return true;
}

static void take_frame(struct lines *l, enum framer_result result, struct sv line)
{
    if (result == FRAMER_TOO_LONG) {
        refuse(l, NULL, "the line is longer than 256 MiB");
    } else if (result == FRAMER_NOMEM) {
        refuse(l, NULL, "the line was lost: out of memory");
    } else if (!is_blank(line)) {
        take_line(l, line);
    }
}

// Starts calls from what was read, as many as may run at once. False when more was read
// than may run now.
static bool take_pending(struct lines *l)
{
    struct sv line;
    enum framer_result result;
    while (l->in_flight < IN_FLIGHT_MAX) {
        result = framer_next(&l->framer, &l->pending, &line);
        if (result == FRAMER_MORE) {
            return true;
        }
        take_frame(l, result, line);
    }
    return false;
}

static void read_calls(void *data)
{
    struct lines *l = data;
    ssize_t n = read(STDIN_FILENO, l->piece.data, PIECE);
    if (n > 0) {
        l->pending = sv_make(l->piece.data, (size_t)n);
        take_pending(l);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        struct sv line;
        enum framer_result result = framer_end(&l->framer, &line);
        l->ended = true;
        if (result != FRAMER_MORE) {
            take_frame(l, result, line);
        }
    }
}

// Before each wait: calls that had to wait, what was answered, and whether stdin is read.
static int on_tick(void *data)
{
    struct lines *l = data;
    struct mainloop *loop = &l->app->loop;
    bool used_up = take_pending(l);
    loop->input_fd = used_up && !l->ended ? STDIN_FILENO : -1;
    out_flush(&l->app->out);
    if (l->ended && used_up && l->in_flight == 0) {
        mainloop_leave(loop, loop->interrupts > 0 ? EXIT_INTERRUPTED : EXIT_OK);
    }
    return -1;
}

static void on_interrupt(void *data)
{
    struct lines *l = data;
    l->ended = true;
    l->pending = (struct sv){0};
}

int mode_tool_lines(struct app *app)
{
    struct lines l = {.app = app, .framer = {.max = LINE_MAX_BYTES}};
    struct pi_error err = {0};
    int code = app_start(app);
    if (code == EXIT_OK && !buf_reserve(&l.piece, PIECE)) {
        error_nomem(&err);
        code = app_fail(&err);
    }
    if (code == EXIT_OK) {
        app->loop.data = app->loop.input_data = &l;
        app->loop.on_event = on_event;
        app->loop.on_tick = on_tick;
        app->loop.on_interrupt = on_interrupt;
        app->loop.on_input = read_calls;
        app->loop.watch_stdout = true;
        code = mainloop_run(&app->loop);
    }
    struct sv key;
    void *id;
    for (size_t at = 0; map_next(&l.ids, &at, &key, &id);) {
        free(id);
    }
    map_finish(&l.ids);
    framer_finish(&l.framer);
    buf_finish(&l.piece);
    return code;
}
