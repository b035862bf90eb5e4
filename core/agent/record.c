// The session: what of the conversation is on disk. The transcript is ahead of it only
// when writing failed.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/sessions.h"
#include "sys/program.h"

/* -- opening -- */

static enum pi_status load_transcript(struct pi_agent *a, struct buf *problems,
                                      struct pi_error *err)
{
    struct session_messages messages = {0};
    enum pi_status status = session_messages(a->session, &messages, problems, err);
    struct message_queue *t = &a->context.transcript;
    t->items = messages.items;
    t->len = messages.len;
    t->cap = messages.cap;
    a->recorded = t->len;
    return status;
}

static void tell_owner(struct session *s, const struct journal_owner *owner,
                       struct buf *problems)
{
    const char *why = session_read_only(s);
    if (!why) {
        return;
    }
    buf_addf(problems, "%s is only read, what follows is not saved: %s", session_path(s),
             why);
    if (owner->pid > 0) {
        buf_addf(problems, " (process %ld)", owner->pid);
    }
    buf_addc(problems, '\n');
}

// The directory of a session is part of it: the relative paths in it start there.
static enum pi_status enter(struct pi_agent *a, const struct pi_agent_options *o,
                            struct pi_error *err)
{
    struct buf text = {0};
    struct stat st;
    bool ok = true;
    const char *own = session_cwd(a->session);
    bool placed = own && own[0] == '/';
    if (placed) {
        if (stat(own, &st) != 0 || !S_ISDIR(st.st_mode)) {
            return error_set(err, PI_NOT_FOUND,
                             "the session's directory %s is not there any more. Make it "
                             "again, or make a symbolic link of that name to where it "
                             "has gone, and go on then",
                             own);
        }
        if (strcmp(own, o->cwd) != 0) {
            buf_addf(&text, "The session belongs to %s; tools run there.", own);
            agent_notice(a, "info", buf_cstr(&text));
            buf_finish(&text);
        }
    }
    a->cwd = agent_copy(placed ? own : o->cwd, &ok);
    a->session_id = agent_copy(session_id(a->session), &ok);
    return ok ? PI_OK : error_nomem(err);
}

// A file of this name that is not there, or empty, becomes a new session.
static bool is_new(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 ? errno == ENOENT
                                : S_ISREG(st.st_mode) && st.st_size == 0;
}

enum pi_status record_open(struct pi_agent *a, const struct pi_agent_options *o,
                           struct buf *problems, struct pi_error *err)
{
    bool ok = true;
    struct journal_owner owner = {0};
    if (!o->session || o->no_session || is_new(o->session)) {
        a->cwd = agent_copy(o->cwd, &ok);
        return ok ? PI_OK : error_nomem(err);
    }
    enum pi_status status = session_open(&a->session, o->session, problems, &owner, err);
    if (!status) {
        tell_owner(a->session, &owner, problems);
        status = enter(a, o, err);
    }
    return status ? status : load_transcript(a, problems, err);
}

enum pi_status record_begin(struct pi_agent *a, const struct pi_agent_options *o,
                            struct pi_error *err)
{
    char id[37];
    char *dir = NULL;
    if (a->session) {
        return PI_OK;
    }
    enum pi_status status = program_new_id(id, err);
    struct session_options options = {.cwd = a->cwd, .id = id};
    if (!status && !o->no_session && !o->session) {
        status = sessions_dir(&dir, &a->settings, o, err);
        options.dir = dir;
    } else if (!o->no_session) {
        options.path = o->session;
    }
    if (!status) {
        status = session_create(&a->session, &options, err);
    }
    if (!status) {
        a->session_id = strdup(id);
        status = a->session_id ? PI_OK : error_nomem(err);
    }
    free(dir);
    return status;
}

/* -- writing -- */

static bool differs(const char *a, const char *b)
{
    return !a || strcmp(a, b) != 0;
}

// The settings under which the next message was made.
static enum pi_status record_settings(struct pi_agent *a, struct pi_error *err)
{
    const struct model *m = &a->model;
    const char *level = thinking_level_name(a->choice.thinking);
    enum pi_status status = PI_OK;
    if (!m->id || !m->provider) {
        return PI_OK;
    }
    if (differs(session_provider(a->session), m->provider) ||
        differs(session_model(a->session), m->id)) {
        status = session_add_model(a->session, m->provider, m->id, err);
    }
    if (!status && differs(session_thinking(a->session), level)) {
        status = session_add_thinking(a->session, level, err);
    }
    return status;
}

static enum pi_status record_name(struct pi_agent *a, struct pi_error *err)
{
    if (!a->wanted_name) {
        return PI_OK;
    }
    enum pi_status status = session_add_name(a->session, a->wanted_name, err);
    if (!status) {
        free(a->wanted_name);
        a->wanted_name = NULL;
    }
    return status;
}

static enum pi_status record_messages(struct pi_agent *a, struct pi_error *err)
{
    const struct message_queue *t = &a->context.transcript;
    enum pi_status status = PI_OK;
    while (!status && a->recorded < t->len) {
        status = session_add_message(a->session, t->items[a->recorded], err);
        a->recorded += status == PI_OK;
    }
    return status;
}

static void tell(struct pi_agent *a, enum pi_status status, const struct pi_error *err)
{
    struct buf text = {0};
    if (status == PI_OK && a->record_failed) {
        a->record_failed = false;
        agent_notice(a, "info", "The session is saved again, nothing is missing in it.");
    } else if (status != PI_OK && !a->record_failed) {
        a->record_failed = true;
        buf_addf(&text,
                 "The session is not saved: %s. The conversation goes on in memory; "
                 "saving is tried again with every message.",
                 err->message);
        agent_notice(a, "error", buf_cstr(&text));
    }
    buf_finish(&text);
}

void record(struct pi_agent *a)
{
    struct pi_error err = {0};
    // A name alone makes no file.
    if (session_read_only(a->session) || a->context.transcript.len == 0) {
        return;
    }
    enum pi_status status = record_settings(a, &err);
    if (!status) {
        status = record_messages(a, &err);
    }
    if (!status) {
        status = record_name(a, &err);
    }
    tell(a, status, &err);
}

void record_sync(struct pi_agent *a)
{
    struct pi_error err = {0};
    enum pi_status status = session_sync(a->session, &err);
    if (status) {
        tell(a, status, &err);
    }
}
