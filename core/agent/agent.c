// The handle: options, start, the agent thread, and the way of commands into it.

#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/prompt.h"
#include "llm/auth.h"
#include "sys/clock.h"
#include "sys/path.h"
#include "sys/program.h"

// An editor may be asked to wait in its own dialogs; a call in its queue waits that long.
enum { HOST_DEADLINE_MS = 30 * 1000 };

// Printing and freeing deep JSON recurses.
enum { THREAD_STACK_BYTES = 2 * 1024 * 1024 };

void agent_emit(struct pi_agent *a, struct pi_event *event)
{
    mailbox_emit(&a->mailbox, event);
}

void agent_notice(struct pi_agent *a, const char *level, const char *text)
{
    log_line(a->log, "notice (%s): %s", level, text);
    agent_emit(a, event_notice(level, text));
}

void agent_set_hooks(struct pi_agent *a, const struct agent_hooks *hooks)
{
    a->hooks = *hooks;
}

void agent_emit_queue(struct pi_agent *a, struct json *dropped)
{
    agent_emit(a,
               event_queue(queue_json(&a->steering), queue_json(&a->follow_up), dropped));
}

/* ------------------------------------------------------------------- the agent thread --
 */

// The prompt depends on the active tools; the file of each part is read again then.
static enum pi_status build_prompt(struct pi_agent *a, struct buf *problems,
                                   struct pi_error *err)
{
    char date[11];
    clock_date(date);
    struct buf prompt = {0};
    struct buf copy = {0};
    enum pi_status status =
        prompt_build(&prompt, problems,
                     &(struct prompt_options){
                         .cwd = a->cwd,
                         .agent_dir = a->settings.agent_dir,
                         .home = a->home,
                         .date = date,
                         .registry = &a->registry,
                         .system_prompt = a->custom_prompt,
                         .append_system_prompt = (const char *const *)a->append_prompts,
                         .no_context_files = a->no_context_files,
                     },
                     err);
    buf_addsv(&copy, buf_sv(&prompt));
    if (!status && (!buf_ok(&prompt) || !buf_ok(&copy))) {
        status = error_nomem(err);
    }
    if (status) {
        buf_finish(&prompt);
        buf_finish(&copy);
        return status;
    }
    buf_finish(&a->context.system_prompt);
    a->context.system_prompt = prompt;
    pthread_mutex_lock(&a->mailbox.lock);
    struct buf old = a->shared_prompt;
    a->shared_prompt = copy;
    pthread_mutex_unlock(&a->mailbox.lock);
    buf_finish(&old);
    return PI_OK;
}

static void notice_lines(struct pi_agent *a, const struct buf *problems)
{
    struct sv rest = buf_sv(problems);
    struct sv line;
    while (sv_next_line(&rest, &line)) {
        char *text = strndup(line.p, line.n);
        agent_notice(a, "warning", text ? text : "out of memory");
        free(text);
    }
}

static void set_tools(struct pi_agent *a, struct command *c)
{
    free(a->registry.active);
    a->registry.active = c->active;
    a->registry.active_len = c->active_len;
    c->active = NULL;
    struct buf problems = {0};
    struct pi_error err = {0};
    if (build_prompt(a, &problems, &err)) {
        agent_notice(a, "error", err.message);
    }
    notice_lines(a, &problems);
    buf_finish(&problems);
}

static void clear_queues(struct pi_agent *a)
{
    struct message_queue all = {0};
    bool modes[] = {a->steering.all, a->follow_up.all};
    a->steering.all = a->follow_up.all = true;
    bool ok = queue_take(&a->steering, &all) && queue_take(&a->follow_up, &all);
    a->steering.all = modes[0];
    a->follow_up.all = modes[1];
    agent_emit_queue(a, ok ? queue_json(&all) : NULL);
    queue_finish(&all);
}

static void enqueue(struct pi_agent *a, struct message_queue *queue, struct command *c)
{
    bool ok = queue_push(queue, c->message);
    c->message = NULL;
    if (!ok) {
        agent_notice(a, "error", "out of memory: a message was lost");
    } else if (queue != &a->start) {
        agent_emit_queue(a, NULL);
    }
    a->start_wanted = true;
}

static void serve(struct pi_agent *a, struct command *c)
{
    switch (c->type) {
    case COMMAND_PROMPT:
        enqueue(a, &a->start, c);
        break;
    case COMMAND_STEER:
        enqueue(a, &a->steering, c);
        break;
    case COMMAND_FOLLOW_UP:
        enqueue(a, &a->follow_up, c);
        break;
    case COMMAND_CONTINUE:
        a->start_wanted = true;
        break;
    case COMMAND_SET_TOOLS:
        set_tools(a, c);
        break;
    case COMMAND_QUEUE_MODE:
        (c->delivery == PI_DELIVER_STEER ? &a->steering : &a->follow_up)->all = c->flag;
        break;
    case COMMAND_CLEAR_QUEUE:
        clear_queues(a);
        break;
    case COMMAND_CALL_TOOL:
        calls_add_user(a, c);
        break;
    case COMMAND_ANSWER:
        calls_answer(a, c->id, (enum pi_permission)c->number,
                     c->text.len ? buf_cstr(&c->text) : NULL);
        break;
    case COMMAND_LATE_ANSWER:
        calls_late_answer(a, c->call);
        break;
    case COMMAND_STOP:
        a->stop_wanted = true;
        break;
    }
    command_destroy(c);
}

static void take_note(struct pi_agent *a, struct run_note *note)
{
    struct run *owner = run_note_owner(note);
    if (owner && (owner == a->turn_port.run || owner == a->user_port.run)) {
        run_take(owner, note);
    } else {
        run_note_drop(note);
    }
}

void agent_pump(struct pi_agent *a, int timeout_ms)
{
    if (a->user_wait_ms >= 0 && (timeout_ms < 0 || a->user_wait_ms < timeout_ms)) {
        timeout_ms = a->user_wait_ms;
    }
    mailbox_wait(&a->mailbox, timeout_ms);
    struct command *commands;
    struct run_note *notes;
    mailbox_take(&a->mailbox, &commands, &notes);
    while (notes) {
        struct run_note *next = *run_note_link(notes);
        take_note(a, notes);
        notes = next;
    }
    while (commands) {
        struct command *next = commands->next;
        serve(a, commands);
        commands = next;
    }
    calls_step_user(a);
}

// A run needs something to start from: a message that waits, or an end that was not an
// answer.
static bool can_start(const struct pi_agent *a)
{
    const struct message_queue *t = &a->context.transcript;
    if (a->start.len || a->steering.len || a->follow_up.len) {
        return true;
    }
    return t->len > 0 && (t->items[t->len - 1]->role != ROLE_ASSISTANT ||
                          t->items[t->len - 1]->stop_reason == STOP_ERROR ||
                          t->items[t->len - 1]->stop_reason == STOP_ABORTED);
}

static void start_run(struct pi_agent *a)
{
    a->start_wanted = false;
    if (can_start(a)) {
        loop_run(a);
        return;
    }
    agent_notice(a, "error", "nothing to continue: send a message instead");
    while (!mailbox_end_run(&a->mailbox)) {
        agent_pump(a, 0);
    }
}

static void *agent_main(void *data)
{
    struct pi_agent *a = data;
    while (!a->stop_wanted) {
        agent_pump(a, a->start_wanted ? 0 : -1);
        if (a->start_wanted && !a->stop_wanted) {
            start_run(a);
        }
    }
    run_destroy(a->user_port.run);
    a->user_port.run = NULL;
    return NULL;
}

/* ---------------------------------------------------------------------------- create --
 */

static char *copy_string(const char *text, bool *ok)
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
        copy[i] = copy_string(list[i], ok);
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

// "replay:FILE" is the only model so far; FILE is relative to the working directory.
static enum pi_status set_model(struct pi_agent *a, const char *model,
                                struct pi_error *err)
{
    if (!model) {
        return PI_OK;
    }
    struct sv name = sv_of(model);
    struct sv scheme = sv_of("replay:");
    if (!sv_starts(name, scheme) || name.n == scheme.n) {
        return error_set(err, PI_NOT_FOUND,
                         "no model \"%s\"; use replay:FILE with a file of recorded turns",
                         model);
    }
    const char *file = model + scheme.n;
    a->replay_path = file[0] == '/' ? strdup(file) : path_join(a->cwd, file);
    if (!a->replay_path) {
        return error_nomem(err);
    }
    a->model = (struct model){
        .id = "replay", .api = "replay", .provider = "replay", .source = a->replay_path};
    return PI_OK;
}

static enum pi_status set_places(struct pi_agent *a, const struct pi_agent_options *o,
                                 struct pi_error *err)
{
    bool ok = true;
    a->cwd = copy_string(o->cwd, &ok);
    a->custom_prompt = copy_string(o->system_prompt, &ok);
    a->append_prompts = copy_list(o->append_system_prompt, &ok);
    a->no_context_files = o->no_context_files;
    enum pi_status status =
        ok ? env_copy(&a->environment, o->environment, err) : error_nomem(err);
    if (status) {
        return status;
    }
    const char *temp = env_get(&a->environment, "TMPDIR");
    a->home = copy_string(env_get(&a->environment, "HOME"), &ok);
    a->temp_dir = copy_string(temp && temp[0] == '/' ? temp : "/tmp", &ok);
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
    if (!path) {
        return PI_OK;
    }
    enum pi_status status = log_open(&a->log, path, err);
    if (!status) {
        auth_redact_keys(&a->environment, a->log);
    }
    return status;
}

static void set_tool_context(struct pi_agent *a)
{
    a->tool_context = (struct tool_context){
        .cwd = a->cwd,
        .home = a->home,
        .environment = &a->environment,
        .host = a->face_host ? &a->host_face.host : host_posix(),
        .memory = a->memory,
        .shell_path = a->settings.shell_path,
        .shell_command_prefix = a->settings.shell_command_prefix,
        .guard_path = a->guard_path,
        .temp_dir = a->temp_dir,
        .restrict_dir = a->restrict_dir,
        .session_id = a->session_id,
    };
}

static enum pi_status set_parts(struct pi_agent *a, const struct pi_agent_options *o,
                                struct pi_error *err)
{
    enum pi_status status = set_places(a, o, err);
    if (!status) {
        status = set_log(a, o->log_path, err);
    }
    if (!status) {
        status = set_model(a, o->model, err);
    }
    if (!status) {
        status = program_new_id(a->session_id, err);
    }
    if (!status) {
        status = policy_init(&a->policy, o->permissions, a->cwd, a->temp_dir, err);
    }
    if (!status) {
        status = file_memory_create(&a->memory, err);
    }
    if (!status) {
        status = registry_init(&a->registry, o->definitions, o->definitions_len, err);
    }
    if (!status) {
        status = registry_set_active(&a->registry, o->tools ? o->tools : "coding", err);
    }
    if (status) {
        return status;
    }
    // A missing guard stops commands only; the bash tool then says so.
    bool ok = true;
    a->guard_path = copy_string(o->guard_path, &ok);
    if (!o->guard_path && program_find(&a->guard_path, "pi-guard", NULL) == PI_NOMEM) {
        ok = false;
    }
    auth_remove_keys(&a->environment);
    a->face_host = o->host;
    a->face_host_data = o->host_data;
    a->steering.all = a->settings.steering_all;
    a->follow_up.all = a->settings.follow_up_all;
    host_face_init(&a->host_face,
                   &(struct host_port){.data = &a->mailbox,
                                       .post = mailbox_host_post,
                                       .leave = mailbox_host_leave},
                   HOST_DEADLINE_MS);
    set_tool_context(a);
    return ok ? PI_OK : error_nomem(err);
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
        status = set_parts(a, options, err);
    }
    if (!status) {
        status = build_prompt(a, &problems, err);
    }
    if (!status) {
        notice_lines(a, &a->settings.problems);
        notice_lines(a, &problems);
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

/* --------------------------------------------------------------------------- destroy --
 */

void agent_unref(struct pi_agent *a)
{
    if (atomic_fetch_sub(&a->refs, 1) != 1) {
        return;
    }
    mailbox_finish(&a->mailbox);
    context_finish(&a->context);
    queue_finish(&a->steering);
    queue_finish(&a->follow_up);
    queue_finish(&a->start);
    policy_finish(&a->policy);
    registry_finish(&a->registry);
    file_memory_destroy(a->memory);
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
    free(a->replay_path);
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
    }
    agent_unref(a);
}

/* ------------------------------------------------------------------------- commands --
 */

static struct message *user_message(const char *text, const struct pi_image *images,
                                    size_t len)
{
    struct message *m = message_create(ROLE_USER);
    bool ok = m && content_add_text(&m->content, sv_of(text));
    for (size_t i = 0; ok && i < len; i++) {
        struct block *b = content_add(&m->content, BLOCK_IMAGE);
        ok = b != NULL;
        if (b) {
            b->mime_type = copy_string(images[i].mime_type, &ok);
            buf_adds(&b->text, images[i].data);
            ok = ok && buf_ok(&b->text);
        }
    }
    if (!ok) {
        message_destroy(m);
        return NULL;
    }
    return m;
}

enum pi_status pi_agent_prompt(pi_agent *a, const char *text,
                               const struct pi_image *images, size_t images_len,
                               enum pi_delivery delivery, struct pi_error *err)
{
    static const enum command_type types[] = {
        [PI_DELIVER_PROMPT] = COMMAND_PROMPT,
        [PI_DELIVER_STEER] = COMMAND_STEER,
        [PI_DELIVER_FOLLOW_UP] = COMMAND_FOLLOW_UP,
    };
    if (!a->model.id) {
        return error_set(
            err, PI_INVALID,
            "no model is configured; use replay:FILE with a file of recorded turns");
    }
    if (text[strspn(text, " \t\r\n")] == '\0' && images_len == 0) {
        return error_set(err, PI_INVALID, "the message is empty");
    }
    struct command *c = command_create(types[delivery]);
    if (c) {
        c->message = user_message(text, images, images_len);
    }
    if (!c || !c->message) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_start(&a->mailbox, c, err);
}

enum pi_status pi_agent_continue(pi_agent *a, struct pi_error *err)
{
    if (!a->model.id) {
        return error_set(err, PI_INVALID, "no model is configured");
    }
    return mailbox_start(&a->mailbox, command_create(COMMAND_CONTINUE), err);
}

void pi_agent_abort(pi_agent *a)
{
    mailbox_abort(&a->mailbox, false);
}

void pi_agent_set_queue_mode(pi_agent *a, enum pi_delivery queue, bool all)
{
    struct command *c = command_create(COMMAND_QUEUE_MODE);
    if (c) {
        c->delivery = queue;
        c->flag = all;
        mailbox_command(&a->mailbox, c, NULL);
    }
}

void pi_agent_clear_queue(pi_agent *a)
{
    struct command *c = command_create(COMMAND_CLEAR_QUEUE);
    if (c) {
        mailbox_command(&a->mailbox, c, NULL);
    }
}

enum pi_status pi_agent_set_tools(pi_agent *a, const char *tools, struct pi_error *err)
{
    // The definitions never change, so names are judged here, on a registry that borrows
    // them.
    struct registry names = {.tools = a->registry.tools, .len = a->registry.len};
    enum pi_status status = registry_set_active(&names, tools, err);
    struct command *c = status ? NULL : command_create(COMMAND_SET_TOOLS);
    if (!c) {
        free(names.active);
        return status ? status : error_nomem(err);
    }
    c->active = names.active;
    c->active_len = names.active_len;
    return mailbox_command(&a->mailbox, c, err);
}

enum pi_status pi_agent_call_tool(pi_agent *a, const struct pi_tool_call *call,
                                  struct pi_error *err)
{
    struct command *c = command_create(COMMAND_CALL_TOOL);
    bool ok = c != NULL;
    if (c) {
        c->id = copy_string(call->id, &ok);
        c->name = copy_string(call->name, &ok);
        c->cwd = copy_string(call->cwd, &ok);
        c->number = call->abort_after_ms;
        buf_add(&c->text, call->arguments, call->arguments_len);
        ok = ok && buf_ok(&c->text);
    }
    if (!ok) {
        command_destroy(c);
        return error_nomem(err);
    }
    return mailbox_command(&a->mailbox, c, err);
}

void pi_agent_answer_permission(pi_agent *a, const char *id, enum pi_permission answer,
                                const char *reason)
{
    struct command *c = command_create(COMMAND_ANSWER);
    bool ok = c != NULL;
    if (c) {
        c->id = copy_string(id, &ok);
        c->number = answer;
        buf_adds(&c->text, reason ? reason : "");
        ok = ok && buf_ok(&c->text);
    }
    if (!ok) {
        command_destroy(c);
        return; // the question stays open and can be answered again
    }
    mailbox_command(&a->mailbox, c, NULL);
}

char *pi_agent_system_prompt(pi_agent *a)
{
    pthread_mutex_lock(&a->mailbox.lock);
    char *copy = strdup(buf_cstr(&a->shared_prompt));
    pthread_mutex_unlock(&a->mailbox.lock);
    return copy;
}

const char *pi_agent_session_id(const pi_agent *a)
{
    return a->session_id;
}

void pi_free(void *memory)
{
    free(memory);
}
