#include "llm/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_line.h"
#include "base/json_relaxed.h"
#include "llm/auth_names.h"
#include "llm/auth_value.h"
#include "llm/secrets.h"
#include "sys/clock.h"
#include "sys/file.h"

enum {
    FILE_MAX_BYTES = 1024 * 1024,
    MODELS_MAX_BYTES = 32 * 1024 * 1024,
    WRITER_WAIT_MS = 1000, // for another program that is writing the file
    WRITER_POLL_MS = 20,
};

struct auth {
    char *file, *cwd, *guard_path;
    char *option, *option_provider; // --api-key and whose it is
    struct env environment;
    struct buf names;    // one a line: variables that hold keys
    struct json *lent;   // keys of the face, by provider; NULL = none
    struct json *stored; // auth.json as read; NULL = none
    struct file_stamp stamp;
    struct json *outputs; // of commands of auth.json, by command
    struct secrets secrets;
    bool ok; // a secret was lost for want of memory otherwise
};

/* -- start and end -- */

static char *copy(const char *text, bool *ok)
{
    char *made = text ? strdup(text) : NULL;
    *ok = *ok && (made || !text);
    return made;
}

static void hide(struct auth *a, const char *word)
{
    a->ok = secrets_add(&a->secrets, word) && a->ok;
}

static void take_variable(void *data, const char *name, const char *value)
{
    struct auth *a = data;
    buf_addf(&a->names, "%s\n", name);
    hide(a, value);
}

static void skim_file(struct auth *a, const char *path, size_t max)
{
    struct buf text = {0};
    enum pi_status status = path ? file_load(&text, path, max, NULL) : PI_NOT_FOUND;
    if (status == PI_OK) {
        auth_visit_named(&a->environment, buf_sv(&text), take_variable, a);
    }
    a->ok = a->ok && status != PI_NOMEM;
    buf_finish(&text);
}

static enum pi_status copy_environment(struct auth *a, const struct env *e,
                                       struct pi_error *err)
{
    if (!e->vars) {
        return PI_OK; // NULL would mean the process's own
    }
    return env_copy(&a->environment, (const char *const *)e->vars, err);
}

static void keep_lent(struct auth *a, const struct pi_key *keys, size_t len)
{
    a->lent = len > 0 ? json_new_object() : NULL;
    for (size_t i = 0; a->ok && i < len; i++) {
        a->ok = json_set_str(a->lent, keys[i].provider, keys[i].key);
        hide(a, keys[i].key);
    }
}

enum pi_status auth_create(struct auth **out, const struct auth_options *options,
                           struct pi_error *err)
{
    struct auth *a = calloc(1, sizeof *a);
    if (!a) {
        return error_nomem(err);
    }
    a->ok = true;
    a->secrets.log = options->log;
    a->file = copy(options->file, &a->ok);
    a->cwd = copy(options->cwd, &a->ok);
    a->guard_path = copy(options->guard_path, &a->ok);
    a->option = copy(options->api_key, &a->ok);
    enum pi_status status = copy_environment(a, options->environment, err);
    if (!status) {
        auth_visit_keys(&a->environment, take_variable, a);
        skim_file(a, options->file, FILE_MAX_BYTES);
        skim_file(a, options->models_file, MODELS_MAX_BYTES);
    }
    if (a->option) {
        hide(a, a->option);
    }
    keep_lent(a, options->keys, options->keys_len);
    if (!status && (!a->ok || !buf_ok(&a->names))) {
        status = error_nomem(err);
    }
    if (status) {
        auth_destroy(a);
        return status;
    }
    *out = a;
    return PI_OK;
}

void auth_destroy(struct auth *a)
{
    if (!a) {
        return;
    }
    if (a->option) {
        explicit_bzero(a->option, strlen(a->option));
    }
    free(a->option);
    free(a->option_provider);
    free(a->file);
    free(a->cwd);
    free(a->guard_path);
    env_finish(&a->environment);
    buf_finish(&a->names);
    json_destroy(a->lent);
    json_destroy(a->stored);
    json_destroy(a->outputs);
    secrets_finish(&a->secrets);
    free(a);
}

void auth_clean(const struct auth *a, struct env *e)
{
    struct sv line, rest = buf_sv(&a->names);
    char name[256];
    while (sv_next_line(&rest, &line)) {
        if (line.n < sizeof name) {
            memcpy(name, line.p, line.n);
            name[line.n] = '\0';
            env_unset(e, name);
        }
    }
}

enum pi_status auth_bind(struct auth *a, const char *provider, struct pi_error *err)
{
    if (a->option && !a->option_provider) {
        a->option_provider = strdup(provider);
        return a->option_provider ? PI_OK : error_nomem(err);
    }
    return PI_OK;
}

void auth_redact(const struct auth *a, struct buf *text)
{
    secrets_redact(&a->secrets, text);
}

/* -- auth.json -- */

// The reference agent makes a folder of this name while it writes.
static bool is_being_written(const struct auth *a)
{
    struct buf lock = {0};
    struct stat st;
    buf_addf(&lock, "%s.lock", a->file);
    bool there = buf_ok(&lock) && lstat(buf_cstr(&lock), &st) == 0;
    buf_finish(&lock);
    return there;
}

static enum pi_status load(struct json **out, struct auth *a, struct buf *text,
                           struct pi_error *why)
{
    int64_t end_ms = clock_mono_ms() + WRITER_WAIT_MS;
    for (;;) {
        buf_clear(text);
        enum pi_status status = file_load(text, a->file, FILE_MAX_BYTES, why);
        if (status) {
            return status;
        }
        status = json_parse_relaxed(out, buf_sv(text), NULL, why);
        if (status != PI_INVALID || clock_mono_ms() >= end_ms || !is_being_written(a)) {
            return status;
        }
        usleep(WRITER_POLL_MS * 1000);
    }
}

static bool is_usable(const struct json *entry)
{
    const char *type = json_get_str(entry, "type");
    const char *key = json_get_str(entry, "key");
    return type && strcmp(type, "api_key") == 0 && key && *key;
}

static bool is_login(const struct json *entry)
{
    const char *type = json_get_str(entry, "type");
    return type && strcmp(type, "oauth") == 0;
}

static void check_stored(const struct auth *a, struct sv text, struct buf *problems)
{
    if (json_type(a->stored) != JSON_OBJECT) {
        buf_addf(problems,
                 "%s: must be an object {\"PROVIDER\": {\"type\": \"api_key\", "
                 "\"key\": ...}}\n",
                 a->file);
        return;
    }
    for (const struct json *e = json_first(a->stored); e; e = json_next(e)) {
        if (!is_usable(e) && !is_login(e)) {
            buf_addf(problems,
                     "%s: line %zu: \"%.100s\" must be {\"type\": \"api_key\", \"key\": "
                     "\"...\"}; it is ignored\n",
                     a->file, json_line(text, a->stored, e), json_key(e));
        }
    }
}

enum pi_status auth_refresh(struct auth *a, struct buf *problems, struct pi_error *err)
{
    struct buf text = {0};
    struct pi_error why = {0};
    struct stat st;
    if (!a->file || stat(a->file, &st) != 0) {
        json_destroy(a->stored);
        a->stored = NULL;
        a->stamp = (struct file_stamp){0};
        return PI_OK;
    }
    struct file_stamp stamp = file_stamp_of(&st);
    if (file_stamp_eq(&stamp, &a->stamp)) {
        return PI_OK;
    }
    struct json *tree = NULL;
    enum pi_status status = load(&tree, a, &text, &why);
    if (status == PI_NOMEM) {
        buf_finish(&text);
        return error_nomem(err);
    }
    a->stamp = stamp;
    json_destroy(a->stored);
    a->stored = tree;
    if (tree) {
        check_stored(a, buf_sv(&text), problems);
    } else if (text.len > 0) {
        buf_addf(problems, "%s: %s; the file is ignored\n", a->file, why.message);
    } else if (status != PI_INVALID || !S_ISREG(st.st_mode)) {
        buf_addf(problems, "%s\n", why.message); // it could not be read
    }
    if (S_ISREG(st.st_mode) && (st.st_mode & 077) != 0) {
        buf_addf(problems, "%s can be read by others: protect it with chmod 600\n",
                 a->file);
    }
    buf_finish(&text);
    return buf_ok(problems) ? PI_OK : error_nomem(err);
}

/* -- keys -- */

struct source {
    const char *value;
    char what[200];
    bool literal; // not to be looked up
    bool kept;    // the output of its command counts for the whole session
};

static const char *stored_key(const struct auth *a, const char *provider)
{
    const struct json *entry = json_get(a->stored, provider);
    return is_usable(entry) ? json_get_str(entry, "key") : NULL;
}

static bool find_variable(const struct auth *a, const char *provider, struct source *out)
{
    const char *name;
    for (size_t n = 0; (name = auth_variable(provider, n)); n++) {
        const char *value = env_get(&a->environment, name);
        if (value && *value) {
            *out = (struct source){.value = value, .literal = true};
            snprintf(out->what, sizeof out->what, "the variable %s", name);
            return true;
        }
    }
    return false;
}

static bool find_source(const struct auth *a, const struct model *m, struct source *out)
{
    const char *stored = stored_key(a, m->provider);
    if (a->option_provider && strcmp(a->option_provider, m->provider) == 0) {
        *out = (struct source){.value = a->option, .literal = true};
        snprintf(out->what, sizeof out->what, "the key of --api-key");
        return true;
    }
    if (stored) {
        *out = (struct source){.value = stored, .kept = true};
        snprintf(out->what, sizeof out->what, "the key of \"%.60s\" in auth.json",
                 m->provider);
        return true;
    }
    if (find_variable(a, m->provider, out)) {
        return true;
    }
    if (m->key_source) {
        *out = (struct source){.value = m->key_source};
        snprintf(out->what, sizeof out->what,
                 "the apiKey of provider \"%.60s\" in models.json", m->provider);
        return true;
    }
    const char *lent = json_get_str(a->lent, m->provider);
    if (lent && *lent) {
        *out = (struct source){.value = lent, .literal = true};
        snprintf(out->what, sizeof out->what, "the key of \"%.60s\" from the editor",
                 m->provider);
        return true;
    }
    return false;
}

bool auth_can_ask(const struct auth *a, const struct model *m)
{
    struct source source;
    return m->keyless || find_source(a, m, &source);
}

static enum pi_status no_key(const struct auth *a, const struct model *m,
                             struct pi_error *err)
{
    const char *name = auth_variable(m->provider, 0);
    bool login = is_login(json_get(a->stored, m->provider));
    return error_set(err, PI_NOT_FOUND,
                     "no key for %.60s: %s%s%sput {\"%.60s\": {\"type\": \"api_key\", "
                     "\"key\": \"...\"}} into %.150s, or give --api-key%s",
                     m->provider, name ? "set " : "", name ? name : "", name ? ", " : "",
                     m->provider, a->file ? a->file : "auth.json",
                     login ? " (the login in that file is of a kind that pi cannot use)"
                           : "");
}

static enum pi_status find_value(struct buf *out, struct auth *a,
                                 const struct source *source, struct cancel *cancel,
                                 struct pi_error *err)
{
    const struct value_context context = {
        .environment = &a->environment, .guard_path = a->guard_path, .cwd = a->cwd};
    bool command = !source->literal && source->value[0] == '!';
    const char *known = command ? json_get_str(a->outputs, source->value) : NULL;
    if (source->literal || (known && source->kept)) {
        buf_adds(out, known ? known : source->value);
        return buf_ok(out) ? value_check(buf_sv(out), source->what, err)
                           : error_nomem(err);
    }
    enum pi_status status =
        value_find(out, source->value, source->what, &context, cancel, err);
    if (!status && command && source->kept) {
        a->outputs = a->outputs ? a->outputs : json_new_object();
        if (!a->outputs || !json_set_str(a->outputs, source->value, buf_cstr(out))) {
            status = error_nomem(err);
        }
    }
    return status;
}

enum pi_status auth_key(char **out, struct auth *a, const struct model *m,
                        struct cancel *cancel, struct pi_error *err)
{
    struct source source;
    struct buf key = {0};
    *out = NULL;
    if (!find_source(a, m, &source)) {
        return m->keyless ? PI_OK : no_key(a, m, err);
    }
    enum pi_status status = find_value(&key, a, &source, cancel, err);
    if (!status && strspn(buf_cstr(&key), " ") == key.len) {
        status = error_set(err, PI_INVALID, "%s is blank: correct it there", source.what);
    }
    if (!status && !secrets_add(&a->secrets, buf_cstr(&key))) {
        status = error_nomem(err);
    }
    if (!status) {
        *out = buf_take(&key);
        status = *out ? PI_OK : error_nomem(err);
    }
    buf_finish(&key);
    return status;
}

/* -- headers -- */

static bool sounds_secret(const char *name)
{
    static const char *const parts[] = {"auth", "key", "token", "secret", "cookie"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcasestr(name, parts[i])) {
            return true;
        }
    }
    return false;
}

static enum pi_status add_header(struct json *out, struct auth *a,
                                 const struct json *header, const struct model *m,
                                 struct cancel *cancel, struct pi_error *err)
{
    const char *name = json_key(header);
    struct source source = {.value = json_str(header)};
    struct buf value = {0};
    snprintf(source.what, sizeof source.what,
             "the header \"%.60s\" of provider \"%.60s\" in models.json", name,
             m->provider);
    if (!*name || name[strcspn(name, " \t\r\n:\"(),;<>=@[]{}?/\\")]) {
        return error_set(err, PI_INVALID, "%s: a header cannot have this name",
                         source.what);
    }
    enum pi_status status = find_value(&value, a, &source, cancel, err);
    bool secret = value_is_indirect(source.value, &a->environment) || sounds_secret(name);
    if (!status && secret && !secrets_add(&a->secrets, buf_cstr(&value))) {
        status = error_nomem(err);
    }
    if (!status && !json_set_str(out, name, buf_cstr(&value))) {
        status = error_nomem(err);
    }
    buf_finish(&value);
    return status;
}

static bool add_authorization(struct json *out, const char *key)
{
    struct buf value = {0};
    buf_addf(&value, "Bearer %s", key);
    bool ok = buf_ok(&value) && json_set_str(out, "Authorization", buf_cstr(&value));
    buf_finish(&value);
    return ok;
}

enum pi_status auth_headers(struct json **out, struct auth *a, const struct model *m,
                            const char *key, struct cancel *cancel, struct pi_error *err)
{
    bool bearer = m->auth_header && key;
    *out = NULL;
    if (!bearer && !json_first(m->headers)) {
        return PI_OK;
    }
    struct json *made = json_new_object();
    enum pi_status status =
        made && (!bearer || add_authorization(made, key)) ? PI_OK : error_nomem(err);
    for (const struct json *h = json_first(m->headers); h && !status; h = json_next(h)) {
        status = add_header(made, a, h, m, cancel, err);
    }
    if (status) {
        json_destroy(made);
        return status;
    }
    *out = made;
    return PI_OK;
}
