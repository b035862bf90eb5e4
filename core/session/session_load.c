// The live path: from the leaf to the root, and what of it the model sees.

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "session/entry_message.h"
#include "session/session_inside.h"

struct path {
    struct session *session;
    int32_t *at; // positions, root first
    size_t len;
    size_t kept;    // messages before this one are replaced by a summary
    size_t summary; // where on the path it is; len = there is none
    struct session_messages *out;
    struct buf *problems;
    struct pi_error *err;
};

static enum pi_status find_path(struct path *p)
{
    const struct index *x = &p->session->index;
    for (int32_t at = p->session->leaf; at != INDEX_NONE; at = x->entries[at].parent) {
        p->len++;
    }
    p->at = calloc(p->len + 1, sizeof *p->at);
    if (!p->at) {
        return error_nomem(p->err);
    }
    size_t i = p->len;
    for (int32_t at = p->session->leaf; at != INDEX_NONE; at = x->entries[at].parent) {
        p->at[--i] = at;
    }
    p->summary = p->len;
    return PI_OK;
}

static enum entry_type type_at(const struct path *p, size_t i)
{
    return (enum entry_type)p->session->index.entries[p->at[i]].type;
}

static void tell(struct path *p, size_t i, const char *why)
{
    buf_addf(p->problems, "%s: the entry %s cannot be read (%s); it is left out\n",
             p->session->path, index_id(&p->session->index, p->at[i]), why);
}

// *out stays NULL when the entry is damaged, which was told.
static enum pi_status parse(struct path *p, size_t i, struct json **out)
{
    struct pi_error why = {0};
    enum pi_status status = session_parse_entry(p->session, p->at[i], out, &why);
    if (status == PI_NOMEM || status == PI_IO) {
        return error_set(p->err, status, "%s", why.message);
    }
    if (status) {
        tell(p, i, why.message);
    }
    return PI_OK;
}

// Where the first entry lies that a compaction kept. Version 1 counts the lines of the
// file, the header being number 0.
static size_t first_kept(const struct path *p, const struct json *compaction)
{
    const char *id = json_get_str(compaction, "firstKeptEntryId");
    double number = json_get_num(compaction, "firstKeptEntryIndex", 0) - 1;
    for (size_t i = 0; i < p->len; i++) {
        if (id ? strcmp(index_id(&p->session->index, p->at[i]), id) == 0
               : p->session->version == 1 && p->at[i] == number) {
            return i;
        }
    }
    return p->len;
}

// The last compaction counts: its summary, then what was kept before it, then the rest.
static enum pi_status find_summary(struct path *p)
{
    size_t i = p->len;
    while (i > 0 && p->summary == p->len) {
        if (type_at(p, --i) != ENTRY_COMPACTION) {
            continue;
        }
        struct json *entry = NULL;
        enum pi_status status = parse(p, i, &entry);
        if (status) {
            return status;
        }
        if (json_get_str(entry, "summary")) {
            size_t first = first_kept(p, entry);
            p->summary = i;
            p->kept = first < i ? first : i;
        }
        json_destroy(entry);
    }
    return PI_OK;
}

static enum pi_status add_message(struct path *p, size_t i, const struct json *entry)
{
    struct message *m = NULL;
    struct pi_error why = {0};
    enum pi_status status = entry_message(&m, entry, &why);
    if (status == PI_NOMEM) {
        return error_nomem(p->err);
    }
    if (status) {
        tell(p, i, why.message);
    }
    if (!m) {
        return PI_OK;
    }
    struct session_messages *out = p->out;
    struct message **grown =
        vec_grow(out->items, &out->cap, out->len + 1, sizeof *out->items);
    if (!grown) {
        message_destroy(m);
        return error_nomem(p->err);
    }
    out->items = grown;
    out->items[out->len++] = m;
    return PI_OK;
}

// An answer tells which model was used, too.
static bool note_settings(struct session *s, const struct json *entry,
                          enum entry_type type)
{
    const struct json *message = json_get(entry, "message");
    const char *role = json_get_str(message, "role");
    if (type == ENTRY_THINKING_LEVEL_CHANGE) {
        const char *level = json_get_str(entry, "thinkingLevel");
        return !level || session_set(&s->thinking, level);
    }
    const char *provider = NULL;
    const char *model = NULL;
    if (type == ENTRY_MODEL_CHANGE) {
        provider = json_get_str(entry, "provider");
        model = json_get_str(entry, "modelId");
    } else if (type == ENTRY_MESSAGE && role && strcmp(role, "assistant") == 0) {
        provider = json_get_str(message, "provider");
        model = json_get_str(message, "model");
    }
    if (!provider || !model || !*provider || !*model) {
        return true;
    }
    return session_set(&s->provider, provider) && session_set(&s->model, model);
}

static bool means_something(enum entry_type type)
{
    return type == ENTRY_MESSAGE || type == ENTRY_CUSTOM_MESSAGE ||
           type == ENTRY_BRANCH_SUMMARY;
}

static bool is_setting(enum entry_type type)
{
    return type == ENTRY_MODEL_CHANGE || type == ENTRY_THINKING_LEVEL_CHANGE;
}

static enum pi_status take(struct path *p, size_t i, bool as_message)
{
    struct json *entry = NULL;
    enum pi_status status = parse(p, i, &entry);
    if (!status && entry && !note_settings(p->session, entry, type_at(p, i))) {
        status = error_nomem(p->err);
    }
    if (!status && entry && as_message) {
        status = add_message(p, i, entry);
    }
    json_destroy(entry);
    return status;
}

static enum pi_status take_all(struct path *p)
{
    enum pi_status status = PI_OK;
    if (p->summary < p->len) {
        status = take(p, p->summary, true);
    }
    for (size_t i = 0; i < p->len && !status; i++) {
        bool message = i >= p->kept && means_something(type_at(p, i));
        if (message || is_setting(type_at(p, i))) {
            status = take(p, i, message);
        }
    }
    return status;
}

enum pi_status session_messages(struct session *s, struct session_messages *out,
                                struct buf *problems, struct pi_error *err)
{
    struct path p = {.session = s, .out = out, .problems = problems, .err = err};
    size_t before = out->len;
    enum pi_status status = PI_OK;
    if (s->journal) {
        status = find_path(&p);
    }
    if (!status) {
        status = find_summary(&p);
    }
    if (!status) {
        status = take_all(&p);
    }
    if (!status && !buf_ok(problems)) {
        status = error_nomem(err);
    }
    free(p.at);
    while (status && out->len > before) {
        message_destroy(out->items[--out->len]);
    }
    return status;
}
