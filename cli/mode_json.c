#include "base/json.h"
#include "exit.h"
#include "mode.h"

static void add_header(struct app *app)
{
    out_adds(&app->out, pi_agent_session_header(app->loop.agent));
    out_adds(&app->out, "\n");
}

static void on_event(void *data, const pi_event *event)
{
    struct app *app = data;
    size_t len;
    const char *text = pi_event_json(event, &len);
    if (text) {
        out_add(&app->out, sv_make(text, len));
        out_adds(&app->out, "\n");
    }
    app_take(app, event);
    if (pi_event_type(event) == PI_EVENT_AGENT_END) {
        out_flush(&app->out);
        app_leave(app);
    }
}

static int on_tick(void *data)
{
    struct app *app = data;
    out_flush(&app->out);
    ask_show(&app->ask);
    return -1;
}

int mode_json(struct app *app, const char *prompt)
{
    app->loop.data = app;
    app->loop.on_event = on_event;
    app->loop.on_tick = on_tick;
    add_header(app);
    int code = app_prompt(app, prompt);
    out_flush(&app->out);
    if (code == EXIT_FAILED && app->answer.ended) {
        struct buf remarks = {0};
        answer_remarks(&app->answer, &remarks);
        struct pi_error err;
        error_set(&err, PI_IO, "%s", buf_cstr(&remarks));
        app_fail(&err);
        buf_finish(&remarks);
    }
    return code;
}
