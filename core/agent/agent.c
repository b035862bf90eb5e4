// The handle: options, start and end.

#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "syntax/grammar.h"
#include "sys/path.h"
#include "sys/process.h"
#include "sys/program.h"

// An editor may be asked to wait in its own dialogs; a call in its queue waits that long.
enum { HOST_DEADLINE_MS = 30 * 1000 };

// Printing and freeing deep JSON recurses.
enum { THREAD_STACK_BYTES = 2 * 1024 * 1024 };

char *agent_copy(const char *text, bool *ok)
{
    char *copy = text ? strdup(text) : NULL;
    *ok = *ok && (copy || !text);
    return copy;
}

static char **copy_list(const char *const *list, bool *ok)
{
    size_t n = 0;
    while (list && list[n]) {
        n++;
    }
    char **copy = list ? calloc(n + 1, sizeof *copy) : NULL;
    *ok = *ok && (copy || !list);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = agent_copy(list[i], ok);
    }
    return copy;
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++) {
        free(list[i]);
    }
    free(list);
}

static enum pi_status check_folder(const char *path, const char *what,
                                   struct pi_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return error_errno(err, errno, "%s %s", what, path);
    }
    if (!S_ISDIR(st.st_mode)) {
        return error_set(err, PI_INVALID, "%s %s is not a directory", what, path);
    }
    return PI_OK;
}

static enum pi_status check_options(const struct pi_agent_options *o,
                                    struct pi_error *err)
{
    if (o->version != PI_AGENT_OPTIONS_VERSION) {
        return error_set(err, PI_INVALID, "options of version %u; this library knows %d",
                         (unsigned)o->version, PI_AGENT_OPTIONS_VERSION);
    }
    if (!o->cwd || o->cwd[0] != '/') {
        return error_set(err, PI_INVALID,
                         "the working directory must be an absolute path");
    }
    return check_folder(o->cwd, "the working directory", err);
}

static enum pi_status set_places(struct pi_agent *a, const struct pi_agent_options *o,
                                 struct pi_error *err)
{
    bool ok = true;
    a->custom_prompt = agent_copy(o->system_prompt, &ok);
    a->append_prompts = copy_list(o->append_system_prompt, &ok);
    a->no_context_files = o->no_context_files;
    enum pi_status status =
        ok ? env_copy(&a->environment, o->environment, err) : error_nomem(err);
    if (status) {
        return status;
    }
    const char *temp = env_get(&a->environment, "TMPDIR");
    a->home = agent_copy(env_get(&a->environment, "HOME"), &ok);
    a->temp_dir = agent_copy(temp && temp[0] == '/' ? temp : "/tmp", &ok);
    if (!ok) {
        return error_nomem(err);
    }
    if (o->restrict_dir) {
        status = check_folder(o->restrict_dir, "the folder to restrict to", err);
        if (!status) {
            status = path_real(&a->restrict_dir, o->restrict_dir, err);
        }
    }
    return status ? status
                  : settings_load(&a->settings, o->agent_dir, a->cwd, a->home, err);
}

static enum pi_status set_log(struct pi_agent *a, const char *path, struct pi_error *err)
{
    return path ? log_open(&a->log, path, err) : PI_OK;
}

// A missing guard stops commands only; the bash tool then says so.
static enum pi_status set_guard(struct pi_agent *a, const char *path,
                                struct pi_error *err)
{
    bool ok = true;
    a->guard_path = agent_copy(path, &ok);
    if (!path && program_find(&a->guard_path, "pi-guard", NULL) == PI_NOMEM) {
        ok = false;
    }
    return ok ? PI_OK : error_nomem(err);
}

static void set_tool_context(struct pi_agent *a)
{
    a->tool_context = (struct tool_context){
        .cwd = a->cwd,
        .home = a->home,
        .environment = &a->environment,
        .host = a->face_host ? &a->host_face.host : host_posix(),
        .memory = a->memory,
        .grammars = a->grammars,
        .shell_path = a->settings.shell_path,
        .shell_command_prefix = a->settings.shell_command_prefix,
        .guard_path = a->guard_path,
        .review = &a->review,
        .jobs = a->jobs,
        .temp_dir = a->temp_dir,
        .restrict_dir = a->restrict_dir,
        .keep_images = !a->settings.resize_images,
        .session_id = a->session_id,
    };
}

static enum pi_status set_parts(struct pi_agent *a, const struct pi_agent_options *o,
                                struct buf *problems, struct pi_error *err)
{
    enum pi_status status = record_open(a, o, problems, err);
    if (!status) {
        status = set_places(a, o, err);
    }
    if (!status) {
        status = record_begin(a, o, err);
    }
    if (!status) {
        status = set_log(a, o->log_path, err);
    }
    if (!status) {
        status = set_guard(a, o->guard_path, err);
    }
    if (!status) {
        status = choice_init(a, o, err);
    }
    if (!status) {
        status = policy_init(&a->policy, o->permissions, a->cwd, a->temp_dir, err);
    }
    if (!status) {
        status = file_memory_create(&a->memory, err);
    }
    if (!status) {
        status = grammars_create(&a->grammars, &a->environment, a->log, err);
    }
    if (!status) {
        status = process_jobs_create(&a->jobs, err);
    }
    if (!status) {
        status = registry_init(&a->registry, o->definitions, o->definitions_len, err);
    }
    if (!status) {
        status = registry_init(&a->names, o->definitions, o->definitions_len, err);
    }
    if (!status) {
        status = registry_set_active(&a->registry, o->tools ? o->tools : "coding", err);
    }
    if (status) {
        return status;
    }
    a->face_host = o->host;
    a->face_host_data = o->host_data;
    a->steering.all = a->settings.steering_all;
    a->follow_up.all = a->settings.follow_up_all;
    host_face_init(&a->host_face,
                   &(struct host_port){.data = &a->mailbox,
                                       .post = mailbox_host_post,
                                       .leave = mailbox_host_leave,
                                       .recall = mailbox_host_recall},
                   HOST_DEADLINE_MS);
    a->review = (struct change_review){.ask = review_ask, .data = a};
    atomic_init(&a->review_first, o->review == PI_REVIEW_BEFORE);
    set_tool_context(a);
    return PI_OK;
}

// The thread is born with all signals blocked: they belong to the program around us.
static enum pi_status start_thread(struct pi_agent *a, struct pi_error *err)
{
    sigset_t all;
    sigset_t old;
    pthread_attr_t attr;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
    int rc = pthread_create(&a->thread, &attr, agent_main, a);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        return error_errno(err, rc, "the agent's thread did not start");
    }
    a->thread_started = true;
    return PI_OK;
}

enum pi_status pi_agent_create(pi_agent **out, const struct pi_agent_options *options,
                               struct pi_error *err)
{
    *out = NULL;
    enum pi_status status = check_options(options, err);
    if (status) {
        return status;
    }
    struct pi_agent *a = calloc(1, sizeof *a);
    if (!a) {
        return error_nomem(err);
    }
    atomic_init(&a->refs, 1);
    a->user_wait_ms = -1;
    a->turn_port.agent = a;
    a->user_port.agent = a;
    struct buf problems = {0};
    status = mailbox_init(&a->mailbox, options->wake, options->wake_data, err);
    if (!status) {
        status = set_parts(a, options, &problems, err);
    }
    if (!status) {
        status = agent_build_prompt(a, &problems, err);
    }
    if (!status) {
        agent_notice_lines(a, &a->settings.problems);
        agent_notice_lines(a, &problems);
        status = start_thread(a, err);
    }
    buf_finish(&problems);
    if (status) {
        agent_unref(a);
        return status;
    }
    log_line(a->log, "session %s starts in %s", a->session_id, a->cwd);
    *out = a;
    return PI_OK;
}

void agent_set_hooks(struct pi_agent *a, const struct agent_hooks *hooks)
{
    a->hooks = *hooks;
}

void agent_unref(struct pi_agent *a)
{
    if (atomic_fetch_sub(&a->refs, 1) != 1) {
        return;
    }
    mailbox_finish(&a->mailbox);
    context_finish(&a->context);
    session_close(a->session);
    free(a->session_id);
    free(a->wanted_name);
    queue_finish(&a->steering);
    queue_finish(&a->follow_up);
    queue_finish(&a->start);
    policy_finish(&a->policy);
    registry_finish(&a->registry);
    registry_finish(&a->names);
    while (a->added) {
        struct added_tool *next = a->added->next;
        added_tool_destroy(a->added);
        a->added = next;
    }
    file_memory_destroy(a->memory);
    grammars_destroy(a->grammars);
    process_jobs_destroy(a->jobs);
    choice_finish(&a->choice);
    settings_finish(&a->settings);
    env_finish(&a->environment);
    buf_finish(&a->late_news);
    buf_finish(&a->shared_prompt);
    free_list(a->append_prompts);
    free(a->custom_prompt);
    free(a->cwd);
    free(a->home);
    free(a->temp_dir);
    free(a->restrict_dir);
    free(a->guard_path);
    log_close(a->log);
    free(a);
}

void pi_agent_destroy(pi_agent *a)
{
    if (!a) {
        return;
    }
    if (a->dispatching) {
        a->destroy_wanted = true;
        return;
    }
    mailbox_abort(&a->mailbox, true);
    struct command *stop = command_create(COMMAND_STOP);
    if (stop) {
        mailbox_command(&a->mailbox, stop, NULL);
    }
    mailbox_close(&a->mailbox);
    if (a->thread_started && stop) {
        pthread_join(a->thread, NULL);
        // Others may write to it now, even if a call of ours is stuck in the kernel.
        session_close(a->session);
        a->session = NULL;
    }
    process_jobs_end(a->jobs);
    agent_unref(a);
}
