#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "exit.h"
#include "input.h"
#include "mode.h"

// `pi tool NAME JSON`: one call, its text as it is.

static void print_blocks(struct app *app, const struct json *content)
{
    char last = '\n';
    for (struct json *block = json_first(content); block; block = json_next(block)) {
        const char *text = json_get_str(block, "text");
        if (text) {
            struct sv piece = sv_of(text);
            out_adds(&app->out, last == '\n' ? "" : "\n");
            out_add(&app->out, piece);
            last = piece.n > 0 ? piece.p[piece.n - 1] : last;
        } else {
            const char *type = json_get_str(block, "mimeType");
            fprintf(stderr, "pi: the result holds an image (%s); --json prints it\n",
                    type ? type : "of unknown type");
        }
    }
    out_adds(&app->out, last == '\n' ? "" : "\n");
}

static void print_result(struct app *app, const struct json *event)
{
    struct json *result = json_get(event, "result");
    if (!app->args->json) {
        print_blocks(app, json_get(result, "content"));
        return;
    }
    struct buf b = {0};
    json_set_bool(result, "isError", json_get_bool(event, "isError", false));
    json_write_pretty(&b, result);
    buf_addc(&b, '\n');
    out_add(&app->out, buf_sv(&b));
    buf_finish(&b);
}

static void on_event(void *data, const pi_event *event)
{
    struct app *app = data;
    if (pi_event_type(event) != PI_EVENT_TOOL_END) {
        app_notice(event);
        return;
    }
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    struct pi_error err = {0};
    int code = EXIT_FAILED;
    if (!text) {
        error_nomem(&err);
        app_fail(&err);
    } else if (json_parse(&root, sv_make(text, len), NULL, &err) != PI_OK) {
        app_fail(&err);
    } else {
        print_result(app, root);
        out_flush(&app->out);
        code = json_get_bool(root, "isError", false) ? EXIT_FAILED : EXIT_OK;
    }
    mainloop_leave(&app->loop, app->loop.interrupts > 0 ? EXIT_INTERRUPTED : code);
    json_destroy(root);
}

int mode_tool(struct app *app)
{
    const char *given = app->args->tool_arguments;
    struct buf arguments = {0};
    struct pi_error err = {0};
    enum pi_status status = PI_OK;
    if (given && strcmp(given, "-") == 0) {
        status = input_read_stdin(&arguments, INPUT_ARGUMENTS_MAX, &err);
    } else {
        buf_adds(&arguments, given ? given : "{}");
    }
    int code = status == PI_OK ? app_start(app) : app_fail(&err);
    if (code == EXIT_OK) {
        app->loop.data = app;
        app->loop.on_event = on_event;
        app->loop.watch_stdout = true;
        struct pi_tool_call call = {
            .id = "call",
            .name = app->args->tool_name,
            .arguments = buf_cstr(&arguments),
            .arguments_len = arguments.len,
            .abort_after_ms = -1,
        };
        status = pi_agent_call_tool(app->loop.agent, &call, &err);
        code = status == PI_OK ? mainloop_run(&app->loop) : app_fail(&err);
    }
    buf_finish(&arguments);
    return code;
}
