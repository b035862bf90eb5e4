#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"
#include "args.h"
#include "exit.h"
#include "input.h"
#include "mode.h"

// A program that was started without one of the first three descriptors must not get a
// log file or a pipe in its place. Writing to this one fails, as it should.
static void fill_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

static int print_text(const char *text)
{
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        perror("pi: cannot write to stdout");
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static void print_notice(void *data, const pi_event *event)
{
    (void)data;
    app_notice(event);
}

static int show_prompt(struct app *app)
{
    struct pi_error err = {0};
    int code = app_start(app);
    if (code != EXIT_OK) {
        return code;
    }
    (void)pi_agent_dispatch(app->loop.agent, NULL, print_notice, NULL);
    char *text = pi_agent_system_prompt(app->loop.agent);
    if (!text) {
        error_nomem(&err);
        return app_fail(&err);
    }
    out_adds(&app->out, text);
    out_adds(&app->out, "\n");
    code = out_flush(&app->out) ? EXIT_OK : app->loop.exit_code;
    pi_free(text);
    return code;
}

static int no_prompt(void)
{
    fputs("pi: there is no prompt: give it as an argument or on stdin\n", stderr);
    return EXIT_USAGE;
}

// What the user said goes to the agent.
static int run_input(struct app *app, const struct input *in)
{
    int code = app_start(app);
    if (code != EXIT_OK) {
        return code;
    }
    app->images = in->images;
    app->images_len = in->images_len;
    return app->args->json ? mode_json(app, buf_cstr(&in->prompt))
                           : mode_print(app, buf_cstr(&in->prompt));
}

static int run_prompt(struct app *app)
{
    const struct args *args = app->args;
    struct input in = {0};
    struct pi_error err = {0};
    int code = app_find_session(app);
    if (code != EXIT_OK) {
        return code;
    }
    code = EXIT_FAILED;
    enum pi_status status = input_read(&in, args, app->cwd, &app->env, &err);
    if (status == PI_OK && in.prompt.len == 0 && !args->print && isatty(STDIN_FILENO)) {
        status = input_ask_line(&in.prompt, &err);
    }
    struct sv line, rest = buf_sv(&in.notes);
    while (sv_next_line(&rest, &line)) {
        struct pi_error note;
        error_set(&note, PI_OK, "%.*s", (int)line.n, line.p);
        app_fail(&note);
    }
    if (status != PI_OK) {
        code = app_fail(&err);
    } else {
        code = in.prompt.len == 0 ? no_prompt() : run_input(app, &in);
    }
    input_finish(&in);
    return code;
}

static int run(const struct args *args)
{
    struct app app;
    struct pi_error err = {0};
    if (app_init(&app, args, &err) != PI_OK) {
        app_finish(&app);
        return app_fail(&err);
    }
    int code = EXIT_FAILED;
    switch (args->command) {
    case ARGS_TOOL:
        code = mode_tool(&app);
        break;
    case ARGS_TOOL_LINES:
        code = mode_tool_lines(&app);
        break;
    case ARGS_LIST_MODELS:
        code = mode_models(&app);
        break;
    case ARGS_SHOW_PROMPT:
        code = show_prompt(&app);
        break;
    default:
        code = run_prompt(&app);
        break;
    }
    app_finish(&app);
    return code;
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    struct args args;
    int code = EXIT_USAGE;
    if (args_parse(&args, argc, argv)) {
        if (args.command == ARGS_HELP) {
            code = print_text(args_help);
        } else if (args.command == ARGS_VERSION) {
            code = print_text("pi " PI_VERSION "\n");
        } else {
            code = run(&args);
        }
    }
    args_finish(&args);
    return code;
}
