#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "exit.h"
#include "mode.h"
#include "show.h"

enum { COLUMNS = 6 };

struct models {
    struct app *app;
    const char *query;
};

// "272K", "1M", "1.05M"; "?" when it is not known.
static void add_tokens(struct buf *b, double n)
{
    if (n < 1) {
        buf_adds(b, "?");
    } else if (n < 1000) {
        buf_addf(b, "%.0f", n);
    } else if (n < 1e6) {
        buf_addf(b, "%.0fK", n / 1000);
    } else {
        buf_addf(b, "%.3g", n / 1e6);
        buf_adds(b, "M");
    }
}

static bool takes_images(const struct json *model)
{
    for (const struct json *i = json_first(json_get(model, "input")); i;
         i = json_next(i)) {
        if (json_str(i) && strcmp(json_str(i), "image") == 0) {
            return true;
        }
    }
    return false;
}

static void write_cell(struct buf *b, const struct json *model, int column)
{
    static const char *const titles[COLUMNS] = {"provider", "model",    "context",
                                                "max-out",  "thinking", "images"};
    if (!model) {
        buf_adds(b, titles[column]);
        return;
    }
    switch (column) {
    case 0:
        show_text(b, sv_of(json_get_str(model, "provider")));
        break;
    case 1:
        show_text(b, sv_of(json_get_str(model, "id")));
        break;
    case 2:
        add_tokens(b, json_get_num(model, "contextWindow", 0));
        break;
    case 3:
        add_tokens(b, json_get_num(model, "maxTokens", 0));
        break;
    case 4:
        buf_adds(b, json_get_bool(model, "reasoning", false) ? "yes" : "no");
        break;
    default:
        buf_adds(b, takes_images(model) ? "yes" : "no");
        break;
    }
}

static bool is_available(const struct json *entry)
{
    return json_get_bool(entry, "available", false);
}

static void measure(size_t widths[COLUMNS], const struct json *model)
{
    for (int i = 0; i < COLUMNS; i++) {
        struct buf cell = {0};
        write_cell(&cell, model, i);
        widths[i] = cell.len > widths[i] ? cell.len : widths[i];
        buf_finish(&cell);
    }
}

static void add_row(struct out *out, const size_t widths[COLUMNS],
                    const struct json *model)
{
    struct buf row = {0};
    for (int i = 0; i < COLUMNS; i++) {
        struct buf cell = {0};
        write_cell(&cell, model, i);
        int width = i == COLUMNS - 1 ? 0 : (int)widths[i] + 2;
        buf_addf(&row, "%-*s", width, buf_cstr(&cell));
        buf_finish(&cell);
    }
    buf_addc(&row, '\n');
    out_add(out, buf_sv(&row));
    buf_finish(&row);
}

static size_t print_table(struct app *app, const struct json *models)
{
    size_t widths[COLUMNS] = {0}, rows = 0;
    measure(widths, NULL);
    for (const struct json *m = json_first(models); m; m = json_next(m)) {
        if (is_available(m)) {
            measure(widths, m);
            rows++;
        }
    }
    if (rows > 0) {
        add_row(&app->out, widths, NULL);
    }
    for (const struct json *m = json_first(models); m; m = json_next(m)) {
        if (is_available(m)) {
            add_row(&app->out, widths, m);
        }
    }
    return rows;
}

// Which providers lack a key or a server.
static void print_others(struct app *app, const struct json *providers)
{
    struct buf keys = {0}, servers = {0}, text = {0};
    for (const struct json *p = json_first(providers); p; p = json_next(p)) {
        const char *variable = json_get_str(p, "keyVariable");
        bool local = json_get_bool(p, "local", false);
        struct buf *list = local ? &servers : &keys;
        if (is_available(p)) {
            continue;
        }
        buf_adds(list, list->len > 0 ? ", " : "");
        buf_adds(list, json_get_str(p, "name"));
        if (variable && !local) {
            buf_addf(list, " (%s)", variable);
        }
    }
    if (keys.len > 0) {
        buf_addf(&text, "pi: without a key: %s\n", buf_cstr(&keys));
    }
    if (servers.len > 0) {
        buf_addf(&text, "pi: no answer from: %s\n", buf_cstr(&servers));
    }
    struct buf shown = {0};
    show_text(&shown, buf_sv(&text));
    out_add(&app->err, buf_sv(&shown));
    buf_finish(&shown);
    buf_finish(&keys);
    buf_finish(&servers);
    buf_finish(&text);
}

static int print_list(struct models *m, const pi_event *event)
{
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    struct pi_error err = {0};
    if (!text || json_parse(&root, sv_make(text, len), NULL, &err) != PI_OK) {
        error_nomem(&err);
        return app_fail(&err);
    }
    size_t rows = print_table(m->app, json_get(root, "models"));
    bool written = out_flush(&m->app->out);
    if (rows == 0 || !*m->query) {
        print_others(m->app, json_get(root, "providers"));
    }
    if (rows == 0) {
        out_adds(&m->app->err, *m->query ? "pi: no model fits that can be asked\n"
                                         : "pi: no model can be asked\n");
    }
    out_flush(&m->app->err);
    json_destroy(root);
    return rows > 0 && written ? EXIT_OK : EXIT_FAILED;
}

static void on_event(void *data, const pi_event *event)
{
    struct models *m = data;
    struct app *app = m->app;
    size_t len;
    if (pi_event_type(event) == PI_EVENT_NOTICE) {
        app_notice(event);
    }
    if (pi_event_type(event) != PI_EVENT_MODEL_LIST) {
        return;
    }
    int code = EXIT_OK;
    const char *text = app->args->json ? pi_event_json(event, &len) : NULL;
    if (text) {
        out_add(&app->out, sv_make(text, len));
        out_adds(&app->out, "\n");
        out_flush(&app->out);
    } else {
        code = print_list(m, event);
    }
    mainloop_leave(&app->loop, code);
}

int mode_models(struct app *app)
{
    struct models m = {.app = app};
    struct buf query = {0};
    struct pi_error err = {0};
    for (size_t i = 0; i < app->args->words_len; i++) {
        buf_addf(&query, "%s%s", i > 0 ? " " : "", app->args->words[i]);
    }
    m.query = buf_cstr(&query);
    int code = app_start(app);
    app->loop.data = &m;
    app->loop.on_event = on_event;
    if (code == EXIT_OK) {
        enum pi_status status = pi_agent_list_models(app->loop.agent, m.query, &err);
        code = status == PI_OK ? mainloop_run(&app->loop) : app_fail(&err);
    }
    buf_finish(&query);
    return code;
}
