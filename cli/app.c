#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "exit.h"
#include "pi_tools.h"
#include "resume.h"
#include "show.h"
#include "sys/path.h"

int app_fail(const struct pi_error *err)
{
    struct buf b = {0};
    show_text(&b, sv_of(err->message));
    fprintf(stderr, "pi: %s\n", buf_cstr(&b));
    buf_finish(&b);
    return EXIT_FAILED;
}

void app_notice(const pi_event *event)
{
    size_t len;
    struct json *root = NULL;
    struct pi_error note = {0};
    const char *text =
        pi_event_type(event) == PI_EVENT_NOTICE ? pi_event_json(event, &len) : NULL;
    if (text && json_parse(&root, sv_make(text, len), NULL, NULL) == PI_OK) {
        error_set(&note, PI_OK, "%s", json_get_str(root, "message"));
        app_fail(&note);
    }
    json_destroy(root);
}

enum pi_status app_init(struct app *app, const struct args *args, struct pi_error *err)
{
    *app = (struct app){
        .args = args,
        .loop = {.wake_fd = -1, .signal_fd = -1, .input_fd = -1, .exit_code = -1},
        .out = {.fd = STDOUT_FILENO, .required = true},
        .err = {.fd = STDERR_FILENO},
        .ask = {.fd = -1},
    };
    app->cwd = getcwd(NULL, 0);
    if (!app->cwd) {
        return error_errno(err, errno,
                           "the current directory cannot be found; change to another one "
                           "and start pi again");
    }
    if (args->restrict_dir) {
        bool absolute = args->restrict_dir[0] == '/';
        app->restrict_dir = absolute ? strdup(args->restrict_dir)
                                     : path_join(app->cwd, args->restrict_dir);
        if (!app->restrict_dir) {
            return error_nomem(err);
        }
    }
    return env_copy(&app->env, NULL, err);
}

static enum pi_permissions permissions(struct app *app)
{
    const struct args *args = app->args;
    if (args->command != ARGS_PROMPT ||
        (args->permissions_given && args->permissions == PI_PERMISSIONS_YOLO)) {
        return PI_PERMISSIONS_YOLO;
    }
    bool terminal = ask_open(&app->ask);
    return args->permissions_given || terminal ? PI_PERMISSIONS_ASK : PI_PERMISSIONS_YOLO;
}

// A tool without a model needs no prompt, so its files are neither read nor complained
// of.
static void set_prompt(struct pi_agent_options *options, const struct args *args)
{
    static const char *const nothing[] = {NULL};
    bool tool = args->command == ARGS_TOOL || args->command == ARGS_TOOL_LINES ||
                args->command == ARGS_LIST_MODELS;
    options->system_prompt = tool ? "" : args->system_prompt;
    options->append_system_prompt = tool ? nothing : args->append_system_prompt;
    options->no_context_files = tool || args->no_context_files;
}

static struct pi_agent_options options_of(const struct app *app)
{
    struct pi_agent_options options = PI_AGENT_OPTIONS_INIT;
    options.cwd = app->cwd;
    options.model = app->args->model;
    options.provider = app->args->provider;
    options.api_key = app->args->api_key;
    options.thinking = app->args->thinking;
    // Who names a tool wants that tool, whatever a model gets.
    bool named = app->args->command == ARGS_TOOL || app->args->command == ARGS_TOOL_LINES;
    options.tools = named ? "all" : app->args->tools;
    set_prompt(&options, app->args);
    options.restrict_dir = app->restrict_dir;
    options.log_path = env_get(&app->env, "PI_LOG");
    options.definitions = pi_tools_builtin(&options.definitions_len);
    options.session = app->session;
    options.session_dir = app->args->session_dir;
    options.no_session = app->args->no_session || app->args->command != ARGS_PROMPT;
    return options;
}

int app_find_session(struct app *app)
{
    struct pi_agent_options options = options_of(app);
    return resume_find(&app->session, app->args, &options);
}

int app_start(struct app *app)
{
    struct pi_error err = {0};
    if (mainloop_init(&app->loop, &err) != PI_OK) {
        return app_fail(&err);
    }
    app->out.loop = &app->loop;
    app->err.loop = &app->loop;
    struct pi_agent_options options = options_of(app);
    options.permissions = permissions(app);
    if (mainloop_start(&app->loop, &options, &err) != PI_OK) {
        app_fail(&err);
        return err.code == PI_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    if (app->args->name &&
        pi_agent_set_session_name(app->loop.agent, app->args->name, &err) != PI_OK) {
        return app_fail(&err);
    }
    return EXIT_OK;
}

static void take_question(struct app *app, const pi_event *event)
{
    size_t len;
    const char *text = pi_event_json(event, &len);
    struct json *root = NULL;
    if (!text || json_parse(&root, sv_make(text, len), NULL, NULL) != PI_OK) {
        return;
    }
    if (pi_event_type(event) == PI_EVENT_PERMISSION_REQUEST) {
        ask_add(&app->ask, app->loop.agent, root);
    } else {
        ask_withdraw(&app->ask, root);
    }
    app->loop.input_fd = ask_waits(&app->ask) ? app->ask.fd : -1;
    json_destroy(root);
}

void app_take(struct app *app, const pi_event *event)
{
    switch (pi_event_type(event)) {
    case PI_EVENT_PERMISSION_REQUEST:
    case PI_EVENT_PERMISSION_END:
        take_question(app, event);
        break;
    case PI_EVENT_AGENT_END:
    case PI_EVENT_MESSAGE_END:
        answer_take(&app->answer, event);
        break;
    default:
        break;
    }
}

void app_leave(struct app *app)
{
    int code = answer_exit_code(&app->answer);
    mainloop_leave(&app->loop, app->loop.interrupts > 0 ? EXIT_INTERRUPTED : code);
}

static void read_answer(void *data)
{
    struct app *app = data;
    ask_read(&app->ask, app->loop.agent);
    app->loop.input_fd = ask_waits(&app->ask) ? app->ask.fd : -1;
}

int app_prompt(struct app *app, const char *prompt)
{
    struct pi_error err = {0};
    app->loop.on_input = read_answer;
    app->loop.input_data = app;
    app->loop.watch_stdout = true;
    struct pi_image *images = calloc(app->images_len + 1, sizeof *images);
    for (size_t i = 0; images && i < app->images_len; i++) {
        images[i] = (struct pi_image){.mime_type = app->images[i].mime_type,
                                      .data = app->images[i].data};
    }
    enum pi_status status =
        images ? pi_agent_prompt(app->loop.agent, prompt, images, app->images_len,
                                 PI_DELIVER_PROMPT, &err)
               : error_nomem(&err);
    free(images);
    return status == PI_OK ? mainloop_run(&app->loop) : app_fail(&err);
}

void app_finish(struct app *app)
{
    mainloop_finish(&app->loop);
    out_finish(&app->out);
    out_finish(&app->err);
    ask_finish(&app->ask);
    answer_finish(&app->answer);
    env_finish(&app->env);
    free(app->restrict_dir);
    app->restrict_dir = NULL;
    pi_free(app->session);
    app->session = NULL;
    free(app->cwd);
    app->cwd = NULL;
}
