#include "session/session.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/session_inside.h"
#include "sys/clock.h"
#include "sys/path.h"

enum { VERSION = 3, ID_MAX = 128 };

bool session_set(char **place, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) {
        return false;
    }
    free(*place);
    *place = copy;
    return true;
}

void session_close(struct session *s)
{
    if (!s) {
        return;
    }
    journal_close(s->journal);
    index_finish(&s->index);
    buf_finish(&s->header);
    free(s->path);
    free(s->id);
    free(s->cwd);
    free(s->name);
    free(s->provider);
    free(s->model);
    free(s->thinking);
    free(s);
}

const char *session_id(const struct session *s)
{
    return s->id;
}

const char *session_path(const struct session *s)
{
    return s->path;
}

const char *session_cwd(const struct session *s)
{
    return s->cwd;
}

const char *session_header(const struct session *s)
{
    return buf_cstr(&s->header);
}

const char *session_read_only(const struct session *s)
{
    return s->journal ? journal_read_only(s->journal) : NULL;
}

const char *session_name(const struct session *s)
{
    return s->name;
}

const char *session_provider(const struct session *s)
{
    return s->provider;
}

const char *session_model(const struct session *s)
{
    return s->model;
}

const char *session_thinking(const struct session *s)
{
    return s->thinking;
}

void session_write_header(struct buf *out, const char *id, const char *cwd)
{
    char now[25];
    clock_iso(now, clock_unix_ms());
    buf_addf(out, "{\"type\":\"session\",\"version\":%d,\"id\":", VERSION);
    json_write_string(out, sv_of(id));
    buf_addf(out, ",\"timestamp\":\"%s\",\"cwd\":", now);
    json_write_string(out, sv_of(cwd));
    buf_addc(out, '}');
}

/* -- a new one -- */

// DIR/2026-01-31T12-00-00-000Z_ID.jsonl
static char *new_path(const char *dir, const char *id)
{
    struct buf name = {0};
    char now[25];
    clock_iso(now, clock_unix_ms());
    for (char *p = now; *p; p++) {
        *p = *p == ':' || *p == '.' ? '-' : *p;
    }
    buf_addf(&name, "%s_%s.jsonl", now, id);
    char *path = buf_ok(&name) ? path_join(dir, buf_cstr(&name)) : NULL;
    buf_finish(&name);
    return path;
}

enum pi_status session_create(struct session **out, const struct session_options *options,
                              struct pi_error *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        return error_nomem(err);
    }
    s->leaf = INDEX_NONE;
    s->version = VERSION;
    s->given_path = options->path != NULL;
    s->in_memory = !options->path && !options->dir;
    if (options->path) {
        s->path = strdup(options->path);
    } else if (options->dir) {
        s->path = new_path(options->dir, options->id);
    }
    session_write_header(&s->header, options->id, options->cwd);
    if ((!s->path && !s->in_memory) || !session_set(&s->id, options->id) ||
        !session_set(&s->cwd, options->cwd) || !buf_ok(&s->header)) {
        session_close(s);
        return error_nomem(err);
    }
    *out = s;
    return PI_OK;
}

/* -- an existing one -- */

enum pi_status session_parse_entry(struct session *s, int32_t at, struct json **out,
                                   struct pi_error *err)
{
    struct buf line = {0};
    struct json *entry = NULL;
    enum pi_status status =
        journal_read(s->journal, s->index.entries[at].offset, &line, err);
    if (!status) {
        status = json_parse(&entry, buf_sv(&line), NULL, err);
    }
    buf_finish(&line);
    if (!status && json_type(entry) != JSON_OBJECT) {
        json_destroy(entry);
        return error_set(err, PI_INVALID, "it is no object");
    }
    if (!status) {
        *out = entry;
    }
    return status;
}

// Part of file names and of what is shown: nothing but plain characters.
static bool plain_id(const char *id)
{
    size_t n = 0;
    for (; id && id[n] && n <= ID_MAX; n++) {
        if (!isalnum((unsigned char)id[n]) && !strchr("-_.", id[n])) {
            return false;
        }
    }
    return n > 0 && n <= ID_MAX && id[0] != '.';
}

enum pi_status session_read_header(struct session *s, struct sv line,
                                   struct pi_error *err)
{
    struct json *root = NULL;
    struct pi_error why = {0};
    enum pi_status status = json_parse(&root, line, NULL, &why);
    if (status == PI_NOMEM) {
        return error_nomem(err);
    }
    const char *type = json_get_str(root, "type");
    const char *id = json_get_str(root, "id");
    double version = json_get_num(root, "version", 1);
    if (!type || strcmp(type, "session") != 0 || !plain_id(id)) {
        status = error_set(err, PI_INVALID,
                           "%s is not a session: its first line is not the header of "
                           "one. The file was left as it is",
                           s->path);
    } else if (version > VERSION) {
        status = error_set(err, PI_INVALID,
                           "%s is a session of version %.0f; this pi knows versions up "
                           "to %d. The file was left as it is",
                           s->path, version, VERSION);
    } else {
        s->version = version < 2 ? 1 : (int)version;
        buf_clear(&s->header);
        buf_addsv(&s->header, line);
        status = session_set(&s->id, id) &&
                         session_set(&s->cwd, json_get_str(root, "cwd")) &&
                         buf_ok(&s->header)
                     ? PI_OK
                     : error_nomem(err);
    }
    json_destroy(root);
    return status;
}

enum pi_status session_open(struct session **out, const char *path, struct buf *problems,
                            struct journal_owner *owner, struct pi_error *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        return error_nomem(err);
    }
    s->leaf = INDEX_NONE;
    s->path = strdup(path);
    enum pi_status status =
        s->path ? journal_open(&s->journal, owner, path, err) : error_nomem(err);
    if (!status) {
        status = session_scan(s, problems, err);
    }
    if (!status && !buf_ok(problems)) {
        status = error_nomem(err);
    }
    if (status) {
        session_close(s);
        return status;
    }
    *out = s;
    return PI_OK;
}
