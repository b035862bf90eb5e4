#include "base/json.h"
#include "exit.h"
#include "mode.h"
#include "sys/clock.h"

static void add_header(struct app *app)
{
    char now[25];
    clock_iso(now, clock_unix_ms());
    struct buf b = {0};
    buf_addf(&b, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":\"%s\"",
             pi_agent_session_id(app->loop.agent), now);
    buf_adds(&b, ",\"cwd\":");
    json_write_string(&b, sv_of(app->cwd));
    buf_adds(&b, "}\n");
    out_add(&app->out, buf_sv(&b));
    buf_finish(&b);
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
