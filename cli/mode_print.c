#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "exit.h"
#include "mode.h"
#include "progress.h"
#include "show.h"
#include "text/utf8.h"

struct print {
    struct app *app;
    struct progress progress;
    bool live;      // stdout is a terminal: text appears while it arrives
    bool line_open; // the text on the terminal does not end in LF
};

static bool smart_terminal(const struct app *app, int fd)
{
    const char *term = env_get(&app->env, "TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static void close_line(struct print *p)
{
    if (p->line_open) {
        out_adds(&p->app->out, "\n");
        out_flush(&p->app->out);
        p->line_open = false;
    }
}

static void add_text(struct print *p, struct sv text)
{
    struct buf b = {0};
    show_text(&b, text);
    progress_hide(&p->progress);
    out_add(&p->app->out, buf_sv(&b));
    out_flush(&p->app->out);
    p->line_open = text.n > 0 && text.p[text.n - 1] != '\n';
    buf_finish(&b);
}

// Notices, answers that failed and, for the user of a terminal, the call of a tool.
static void take_object(struct print *p, const pi_event *event)
{
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    if (!text || json_parse(&root, sv_make(text, len), NULL, NULL) != PI_OK) {
        return;
    }
    close_line(p);
    switch (pi_event_type(event)) {
    case PI_EVENT_TOOL_START:
        progress_start(&p->progress, root);
        break;
    case PI_EVENT_TOOL_END:
        progress_end(&p->progress, root);
        break;
    default:
        progress_note(&p->progress, json_get_str(root, "message"));
        break;
    }
    json_destroy(root);
}

static void take_output(struct print *p, const pi_event *event)
{
    // Without a live line nobody would see it, and its JSON form need not be made.
    if (!p->progress.live) {
        return;
    }
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    if (text && json_parse(&root, sv_make(text, len), NULL, NULL) == PI_OK) {
        const char *piece = pi_event_text(event, &len);
        progress_output(&p->progress, json_get_str(root, "toolCallId"),
                        sv_make(piece, piece ? len : 0));
    }
    json_destroy(root);
}

static void print_answer(struct print *p)
{
    struct answer *answer = &p->app->answer;
    progress_hide(&p->progress);
    if (!p->live && answer_exit_code(answer) == EXIT_OK) {
        out_add(&p->app->out, buf_sv(&answer->text));
        out_flush(&p->app->out);
    }
    struct buf remarks = {0};
    answer_remarks(answer, &remarks);
    if (remarks.len > 0) {
        progress_note(&p->progress, buf_cstr(&remarks));
    }
    buf_finish(&remarks);
}

static void on_event(void *data, const pi_event *event)
{
    struct print *p = data;
    size_t len;
    switch (pi_event_type(event)) {
    case PI_EVENT_MESSAGE_UPDATE:
        if (p->live && pi_event_delta(event) == PI_DELTA_TEXT) {
            const char *text = pi_event_text(event, &len);
            add_text(p, sv_make(text, len));
        }
        break;
    case PI_EVENT_MESSAGE_END:
        close_line(p);
        break;
    case PI_EVENT_TOOL_UPDATE:
        take_output(p, event);
        break;
    case PI_EVENT_TOOL_START:
    case PI_EVENT_TOOL_END:
    case PI_EVENT_NOTICE:
    case PI_EVENT_RETRY_START:
        take_object(p, event);
        break;
    case PI_EVENT_PERMISSION_REQUEST:
        progress_hide(&p->progress);
        break;
    default:
        break;
    }
    app_take(p->app, event);
    if (pi_event_type(event) == PI_EVENT_AGENT_END) {
        print_answer(p);
        app_leave(p->app);
    }
}

static int on_tick(void *data)
{
    struct print *p = data;
    if (ask_waits(&p->app->ask)) {
        progress_hide(&p->progress);
        ask_show(&p->app->ask);
        return -1;
    }
    return progress_draw(&p->progress);
}

static void on_interrupt(void *data)
{
    struct print *p = data;
    close_line(p);
    ask_break(&p->app->ask);
    progress_note(&p->progress, "aborting; Ctrl-C again leaves at once");
}

int mode_print(struct app *app, const char *prompt)
{
    const char *no_color = env_get(&app->env, "NO_COLOR");
    struct print p = {.app = app, .live = isatty(STDOUT_FILENO)};
    p.progress.out = &app->err;
    p.progress.live = smart_terminal(app, STDERR_FILENO);
    p.progress.colour = p.progress.live && !(no_color && *no_color);
    app->loop.data = &p;
    app->loop.on_event = on_event;
    app->loop.on_tick = on_tick;
    app->loop.on_interrupt = on_interrupt;
    int code = app_prompt(app, prompt);
    close_line(&p);
    progress_hide(&p.progress);
    progress_finish(&p.progress);
    return code;
}
