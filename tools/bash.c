#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "tool/exec.h"
#include "tool/memory.h"
#include "tools.h"

static const struct exec_ops local = {.run = process_run};

/** One call. */
struct run {
    const struct tool_call *call;
    char *command, *cwd;
    struct env env;
    struct output output;
    struct process_result ended;
    struct buf text;
};

// ----------------------------------------------------------------------- the environment
// --

// Neutral editors, pagers and prompts: nobody is there to answer, so they must end at
// once. An editor that changes nothing lets `git commit --amend` and `git rebase -i` go
// through.
static const char *const given[][2] = {
    {"TERM", "dumb"},
    {"PAGER", "cat"},
    {"GIT_PAGER", "cat"},
    {"GIT_TERMINAL_PROMPT", "0"},
    {"SSH_ASKPASS_REQUIRE", "never"},
    {"EDITOR", "true"},
    {"VISUAL", "true"},
    {"GIT_EDITOR", "true"},
    {"GIT_SEQUENCE_EDITOR", "true"},
};

// What would make the shell behave otherwise than the command says.
static const char *const taken[] = {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH"};

static bool prepare_environment(struct env *env)
{
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        env_unset(env, taken[i]);
    }
    env_unset_prefix(env, "BASH_FUNC_");
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (!env_set(env, given[i][0], given[i][1])) {
            return false;
        }
    }
    return true;
}

static enum pi_status find_shell(const char **out, const struct tool_context *context,
                                 struct pi_error *err)
{
    static const char *const usual[] = {"/bin/bash", "/usr/bin/bash",
                                        "/usr/local/bin/bash",
                                        "/run/current-system/sw/bin/bash", "/bin/sh"};
    if (context->shell_path) {
        *out = context->shell_path;
        if (context->shell_path[0] != '/') {
            return error_set(err, PI_INVALID,
                             "the setting shellPath must be an absolute path: %s",
                             context->shell_path);
        }
        return PI_OK;
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (access(usual[i], X_OK) == 0) {
            *out = usual[i];
            return PI_OK;
        }
    }
    return error_set(err, PI_NOT_FOUND,
                     "there is no bash; name a shell in the setting shellPath");
}

// ------------------------------------------------------------------------------- the run
// --

static char *full_command(const struct json *args, const struct tool_context *context)
{
    struct buf b = {0};
    if (context->shell_command_prefix) {
        buf_addf(&b, "%s\n", context->shell_command_prefix);
    }
    const char *command = json_get_str(args, "command");
    buf_adds(&b, command ? command : "");
    return buf_take(&b);
}

static enum pi_status plan(struct tool_plan *plan, const struct json *args,
                           const struct tool_context *context, struct pi_error *err)
{
    plan->effect = TOOL_EXEC;
    plan->command = full_command(args, context);
    return plan->command ? PI_OK : error_nomem(err);
}

static void show(void *data, struct sv text)
{
    const struct tool_call *call = data;
    const struct tool_update update = {.text = text};
    call->progress(call, &update);
}

static int feed(void *data, struct sv bytes)
{
    return output_feed(data, bytes);
}

static void hand_over(void *data)
{
    output_hand_over(data);
}

static enum pi_status prepare(struct run *run, struct tool_call *call,
                              struct pi_error *err)
{
    const struct tool_context *context = call->context;
    const char *const none[] = {NULL};
    const char *const *vars =
        context->environment ? (const char *const *)context->environment->vars : NULL;
    run->call = call;
    run->command = call->plan.command ? strdup(call->plan.command)
                                      : full_command(call->args, context);
    run->cwd = strdup(context->cwd);
    if (!run->command || !run->cwd) {
        return error_nomem(err);
    }
    enum pi_status status = env_copy(&run->env, vars ? vars : none, err);
    if (status == PI_OK && !prepare_environment(&run->env)) {
        status = error_nomem(err);
    }
    if (status == PI_OK && context->exec_hook && context->exec_hook->before_spawn) {
        status = context->exec_hook->before_spawn(context->exec_hook->data, &run->command,
                                                  &run->cwd, &run->env, err);
    }
    if (status == PI_OK) {
        status = output_init(&run->output, context->temp_dir ? context->temp_dir : "/tmp",
                             call->progress ? show : NULL, call, err);
    }
    return status;
}

// What is in the editor's buffers may have to be on disk first.
static enum pi_status tell_editor(const struct run *run, struct pi_error *err)
{
    struct host *host = run->call->context->host;
    if (!host || !host->ops->before_command) {
        return PI_OK;
    }
    return host->ops->before_command(host, run->cwd, run->command, run->call->cancel,
                                     err);
}

static enum pi_status check_guard(const struct tool_context *context,
                                  struct pi_error *err)
{
    if (!context->guard_path) {
        return error_set(
            err, PI_NOT_FOUND,
            "Commands cannot run: the helper program pi-guard was not found");
    }
    if (access(context->guard_path, X_OK) != 0) {
        return error_set(err, PI_NOT_FOUND,
                         "Commands cannot run: the helper program is missing: %s",
                         context->guard_path);
    }
    return PI_OK;
}

static enum pi_status run_command(struct run *run, struct pi_error *err)
{
    const struct tool_context *context = run->call->context;
    struct process_request request = {
        .guard_path = context->guard_path,
        .command = run->command,
        .cwd = run->cwd,
        .environment = &run->env,
        .log_path = run->output.spill.path,
        .timeout_s = json_get_num(run->call->args, "timeout", 0),
        .jobs = context->jobs,
    };
    const struct process_sink sink = {
        .feed = feed, .handover = hand_over, .data = &run->output};
    const struct exec_ops *exec = context->exec ? context->exec : &local;
    enum pi_status status = PI_OK;
    if (exec == &local) {
        status = check_guard(context, err);
    }
    if (status == PI_OK) {
        status = find_shell(&request.shell, context, err);
    }
    if (status == PI_OK) {
        status = exec->run(&request, &sink, run->call->cancel, &run->ended, err);
        if (context->memory) {
            file_memory_after_command(context->memory);
        }
    }
    return status;
}

// ---------------------------------------------------------------------------- the result
// --

// What follows the output stands apart from it by a blank line.
static void start_section(struct buf *text)
{
    if (text->len > 0 && text->data[text->len - 1] == '\n') {
        buf_truncate(text, text->len - 1);
    }
    if (text->len > 0) {
        buf_adds(text, "\n\n");
    }
}

static void add_left(struct run *run)
{
    const struct process_result *r = &run->ended;
    if (r->left == 0) {
        return;
    }
    start_section(&run->text);
    buf_addf(&run->text, "[Still running in the background: %s. ", r->left_names);
    if (r->left_may_write && run->output.spill.created) {
        buf_addf(&run->text, "Further output goes to %s. ", run->output.spill.path);
    }
    buf_adds(&run->text, "Ends with this session.]");
}

static void add_signal(struct buf *text, int number)
{
    const char *name = sigabbrev_np(number);
    buf_addf(text, "Command was killed by signal %d", number);
    if (name) {
        buf_addf(text, " (SIG%s)", name);
    }
}

// How the command ended, when that is not well.
static void add_end(struct run *run)
{
    const struct process_result *r = &run->ended;
    struct buf *text = &run->text;
    start_section(text);
    switch (r->end) {
    case PROCESS_EXITED:
        buf_addf(text, "Command exited with code %d", r->code);
        break;
    case PROCESS_SIGNALED:
        add_signal(text, r->code);
        break;
    case PROCESS_TIMED_OUT:
        buf_addf(text, "Command timed out after %.15g seconds",
                 json_get_num(run->call->args, "timeout", 0));
        break;
    case PROCESS_ABORTED:
        buf_adds(text, "Command aborted");
        break;
    case PROCESS_LOST:
        buf_adds(text, "Command killed pi-guard, the parent of its shell, and was ended; "
                       "its exit code is unknown. Leave $PPID alone.");
        break;
    }
}

static enum pi_status make_result(struct run *run, struct tool_result *result,
                                  struct pi_error *err)
{
    const struct process_result *r = &run->ended;
    bool stopped = r->end == PROCESS_TIMED_OUT || r->end == PROCESS_ABORTED;
    enum pi_status status =
        output_end(&run->output, r->left_may_write, &run->text, &result->details, err);
    if (status != PI_OK) {
        return status;
    }
    if (run->text.len == 0 && !stopped) {
        buf_adds(&run->text, "(no output)");
    }
    add_left(run);
    result->is_error = r->end != PROCESS_EXITED || r->code != 0;
    if (result->is_error) {
        add_end(run);
    }
    if (!buf_ok(&run->text) || !tool_result_text(result, buf_sv(&run->text))) {
        return error_nomem(err);
    }
    return PI_OK;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    struct run run = {0};
    enum pi_status status = prepare(&run, call, err);
    if (status == PI_OK) {
        status = tell_editor(&run, err);
    }
    if (status == PI_OK) {
        status = run_command(&run, err);
    }
    if (status == PI_OK) {
        status = make_result(&run, result, err);
    }
    output_finish(&run.output);
    env_finish(&run.env);
    buf_finish(&run.text);
    free(run.command);
    free(run.cwd);
    return status;
}

const struct pi_tool_definition tool_bash = {
    .name = "bash",
    .label = "Bash",
    .description =
        "Runs a bash command in the working directory and returns stdout and stderr "
        "together. At most the last 2000 lines or 50KB come back; if there is more, a "
        "notice names the file that holds all of it. There is no terminal and no input. "
        "Each call starts a new shell in the working directory.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"command\":{\"type\":\"string\",\"description\":\"The bash command\"},"
        "\"timeout\":{\"type\":\"number\",\"description\":\"End the command after this "
        "many seconds; without it there is no limit\"}},"
        "\"required\":[\"command\"]}",
    .snippet = "run bash commands",
    .title = "$ {command}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_SEQUENTIAL,
    .plan = plan,
    .execute = execute,
};
