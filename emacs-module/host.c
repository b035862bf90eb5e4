#include "host.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8_scan.h"
#include "fields.h"
#include "value.h"

static void push(struct drain *d, emacs_value item)
{
    emacs_value items = value_cons(d->env, item, d->items);
    if (value_ok(d->env)) {
        d->items = items;
    }
}

// Of live output Emacs shows a few lines and throws the rest away, and what it throws
// away has to be collected while the user types.
enum { OUTPUT_BYTES = 8192 };

// Where the part of text that is kept begins: at a line, or else at a character.
static size_t kept_from(struct sv text)
{
    size_t from = text.n - OUTPUT_BYTES;
    const char *line = memchr(text.p + from, '\n', OUTPUT_BYTES / 2);
    if (line) {
        return (size_t)(line - text.p) + 1;
    }
    while (from < text.n && utf8_continues((unsigned char)text.p[from])) {
        from++;
    }
    return from;
}

// The event without the older part of its output; false: take it as it is.
static bool shorten_output(struct buf *out, struct sv event)
{
    struct json *json = NULL;
    struct pi_error err;
    if (json_parse(&json, event, NULL, &err)) {
        return false;
    }
    struct sv delta = sv_of(json_get_str(json, "delta"));
    bool ok = delta.n > OUTPUT_BYTES;
    if (ok) {
        size_t from = kept_from(delta);
        double skipped = json_get_num(json, "skippedBytes", 0) + (double)from;
        // The new text is made before the old one goes.
        ok = json_set(json, "delta", json_new_string(sv_from(delta, from))) &&
             json_set_int(json, "skippedBytes", (int64_t)skipped);
    }
    if (ok) {
        json_write(out, json);
        ok = buf_ok(out);
    }
    json_destroy(json);
    return ok;
}

static void on_event(void *data, const pi_event *event)
{
    struct drain *d = data;
    size_t len;
    const char *text = pi_event_brief_json(event, &len);
    if (!text) {
        return;
    }
    struct buf shorter = {0};
    struct sv json = sv_make(text, len);
    if (pi_event_type(event) == PI_EVENT_TOOL_UPDATE && len > OUTPUT_BYTES &&
        shorten_output(&shorter, json)) {
        json = buf_sv(&shorter);
    }
    push(d, value_bytes(d->env, json));
    buf_finish(&shorter);
}

static emacs_value change_list(emacs_env *env, const struct pi_host_request *request)
{
    emacs_value list = value_nil(env);
    for (size_t i = request->changes_len; i-- > 0;) {
        const struct pi_change *c = &request->changes[i];
        emacs_value change[] = {
            value_number(env, c->offset),
            value_number(env, c->length),
            value_bytes(env, sv_make(c->text, c->text_len)),
        };
        list = value_cons(env, value_list(env, change, 3), list);
    }
    return list;
}

static emacs_value optional_bytes(emacs_env *env, struct sv bytes)
{
    return bytes.p ? value_bytes(env, bytes) : value_nil(env);
}

static void on_request(void *data, const struct pi_host_request *request)
{
    static const char *const ops[] = {
        [PI_HOST_READ] = "read",
        [PI_HOST_SNAPSHOT] = "snapshot",
        [PI_HOST_APPLY] = "apply",
        [PI_HOST_CALL_TOOL] = "call-tool",
        [PI_HOST_BEFORE_COMMAND] = "before-command",
    };
    struct drain *d = *(struct drain **)data;
    emacs_value item[] = {
        value_symbol(d->env, ops[request->op]),
        value_number(d->env, request->id),
        value_bytes(d->env, sv_of(request->path)),
        value_number(d->env, request->version),
        change_list(d->env, request),
        optional_bytes(d->env, sv_of(request->tool)),
        optional_bytes(d->env, sv_make(request->arguments, request->arguments_len)),
    };
    push(d, value_list(d->env, item, sizeof item / sizeof *item));
}

static void on_withdraw(void *data, uint64_t id)
{
    struct drain *d = *(struct drain **)data;
    emacs_value item[] = {
        value_symbol(d->env, "withdraw"),
        value_number(d->env, id),
    };
    push(d, value_list(d->env, item, 2));
}

const struct pi_host drain_host = {.request = on_request, .withdraw = on_withdraw};

emacs_value drain_run(emacs_env *env, pi_agent *agent, struct drain **current,
                      const struct pi_budget *budget)
{
    struct drain d = {.env = env, .items = value_nil(env)};
    *current = &d;
    enum pi_status status = pi_agent_dispatch(agent, budget, on_event, &d);
    *current = NULL;
    const char *state = status == PI_OK ? "ok" : status == PI_MORE ? "more" : "closed";
    emacs_value items = env->funcall(env, value_symbol(env, "nreverse"), 1, &d.items);
    return value_cons(env, value_symbol(env, state), items);
}

static const struct {
    const char *name;
    enum pi_status status;
} statuses[] = {
    {"ok", PI_OK},           {"not-open", PI_HOST_NOT_OPEN},
    {"stale", PI_STALE},     {"conflict", PI_CONFLICT},
    {"invalid", PI_INVALID}, {"io", PI_IO},
};

// Everything that is not known is a failure.
static enum pi_status status_of(emacs_env *env, emacs_value symbol)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (value_is(env, symbol, statuses[i].name)) {
            return statuses[i].status;
        }
    }
    return PI_IO;
}

static const struct field answer_fields[] = {
    {":message", FIELD_TEXT, offsetof(struct pi_host_answer, message), 0},
    {":text", FIELD_TEXT, offsetof(struct pi_host_answer, text),
     offsetof(struct pi_host_answer, text_len)},
    {":version", FIELD_NUMBER, offsetof(struct pi_host_answer, version), 0},
    {":unsaved", FIELD_FLAG, offsetof(struct pi_host_answer, unsaved), 0},
    {":saved", FIELD_FLAG, offsetof(struct pi_host_answer, saved), 0},
    {0},
};

void drain_answer(emacs_env *env, pi_agent *agent, emacs_value *args)
{
    struct field_texts texts = {0};
    struct pi_host_answer answer = {.status = status_of(env, args[1])};
    intmax_t id = env->extract_integer(env, args[0]);
    if (value_ok(env) && fields_read(env, args[2], answer_fields, &answer, &texts)) {
        pi_agent_answer_host(agent, (uint64_t)id, &answer);
    }
    field_texts_finish(&texts);
}
