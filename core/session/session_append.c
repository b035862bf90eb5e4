// Adding entries: each is one record, written when it is made.

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/session_inside.h"
#include "sys/clock.h"
#include "sys/program.h"

enum { ID_DIGITS = 8, ID_TRIES = 100, UUID_BYTES = 37 };

// Eight random digits that no other entry has; without luck, a whole identifier.
static enum pi_status new_id(const struct session *s, char out[UUID_BYTES],
                             struct pi_error *err)
{
    for (int i = 0; i < ID_TRIES; i++) {
        char uuid[UUID_BYTES];
        enum pi_status status = program_new_id(uuid, err);
        if (status) {
            return status;
        }
        memcpy(out, uuid + UUID_BYTES - 1 - ID_DIGITS, ID_DIGITS + 1);
        if (index_find(&s->index, sv_of(out)) == INDEX_NONE) {
            return PI_OK;
        }
    }
    return program_new_id(out, err);
}

/* -- the file -- */

// A file that the user named may be there already, as long as nothing is in it.
static enum pi_status create_file(struct session *s, struct pi_error *err)
{
    struct pi_error why = {0};
    struct journal_owner owner;
    struct journal *j = NULL;
    enum pi_status status = journal_create(&s->journal, s->path, err);
    if (!status || !s->given_path || journal_open(&j, &owner, s->path, &why) != PI_OK) {
        return status;
    }
    if (journal_size(j) != 0 || journal_read_only(j)) {
        journal_close(j);
        return status;
    }
    s->journal = j;
    return PI_OK;
}

static enum pi_status write_header(struct session *s, struct pi_error *err)
{
    struct buf line = {0};
    buf_addsv(&line, buf_sv(&s->header));
    buf_addc(&line, '\n');
    enum pi_status status = buf_ok(&line)
                                ? journal_append(s->journal, buf_sv(&line), NULL, err)
                                : error_nomem(err);
    buf_finish(&line);
    return status;
}

static enum pi_status prepare(struct session *s, struct pi_error *err)
{
    enum pi_status status = PI_OK;
    if (!s->journal) {
        status = create_file(s, err);
    }
    if (!status && journal_size(s->journal) == 0) {
        status = write_header(s, err);
    }
    return status;
}

/* -- entries -- */

static void begin_record(struct buf *record, const struct index_new *entry)
{
    char now[25];
    clock_iso(now, clock_unix_ms());
    buf_addf(record, "{\"type\":\"%s\"", entry_type_name(entry->type));
    if (entry->id.n > 0) {
        buf_adds(record, ",\"id\":");
        json_write_string(record, entry->id);
    }
    if (entry->parent.n > 0) {
        buf_adds(record, ",\"parentId\":");
        json_write_string(record, entry->parent);
    } else if (!entry->follow) {
        buf_adds(record, ",\"parentId\":null");
    }
    buf_addf(record, ",\"timestamp\":\"%s\"", now);
}

// Whether an id leads to this entry: those of version 1 have none, and in a damaged file
// it may be written so that it does not come back the same, or another entry has it, too.
static bool has_name(const struct session *s, int32_t at)
{
    const char *id = index_id(&s->index, at);
    for (const char *p = id; *p; p++) {
        if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\') {
            return false;
        }
    }
    return s->version > 1 && index_find(&s->index, sv_of(id)) == at;
}

// The parent's id, or follow when only the place behind it can say who the parent is. A
// copy, since the index moves when it grows.
static enum pi_status find_parent(const struct session *s, struct buf *id, bool *follow,
                                  struct pi_error *err)
{
    int32_t parent = index_readable(&s->index, s->leaf);
    *follow = parent != INDEX_NONE && !has_name(s, parent);
    if (parent != INDEX_NONE && !*follow) {
        buf_adds(id, index_id(&s->index, parent));
    }
    return buf_ok(id) ? PI_OK : error_nomem(err);
}

// Writes it. Whatever memory is needed afterwards is there before anything is written.
static enum pi_status write_entry(struct session *s, struct index_new *entry,
                                  const struct buf *members, struct pi_error *err)
{
    struct buf record = {0};
    size_t longer = entry->id.n > entry->parent.n ? entry->id.n : entry->parent.n;
    enum pi_status status = PI_OK;
    begin_record(&record, entry);
    buf_addsv(&record, buf_sv(members));
    buf_adds(&record, "}\n");
    if (!buf_ok(members) || !buf_ok(&record) || !index_reserve(&s->index, longer)) {
        status = error_nomem(err);
    }
    if (!status) {
        status = journal_append(s->journal, buf_sv(&record), &entry->offset, err);
    }
    if (!status) {
        s->leaf = index_add(&s->index, entry);
    }
    buf_finish(&record);
    return status;
}

// members: the rest of the entry, each with its comma before it.
static enum pi_status add(struct session *s, enum entry_type type,
                          const struct buf *members, struct pi_error *err)
{
    char id[UUID_BYTES] = "";
    struct buf parent = {0};
    struct index_new entry = {.type = type};
    enum pi_status status = prepare(s, err);
    if (!status && s->version > 1) {
        status = new_id(s, id, err);
    }
    if (!status) {
        status = find_parent(s, &parent, &entry.follow, err);
    }
    if (!status) {
        entry.id = sv_of(id);
        entry.parent = buf_sv(&parent);
        status = write_entry(s, &entry, members, err);
    }
    buf_finish(&parent);
    return status;
}

enum pi_status session_add_message(struct session *s, const struct message *m,
                                   struct pi_error *err)
{
    if (s->in_memory) {
        return PI_OK;
    }
    struct json *j = message_json(m);
    if (!j) {
        return error_nomem(err);
    }
    struct buf members = {0};
    buf_adds(&members, ",\"message\":");
    json_write(&members, j);
    json_destroy(j);
    enum pi_status status = add(s, ENTRY_MESSAGE, &members, err);
    buf_finish(&members);
    return status;
}

struct member {
    const char *key, *text;
};

static enum pi_status add_texts(struct session *s, enum entry_type type,
                                const struct member *members, struct pi_error *err)
{
    if (s->in_memory) {
        return PI_OK;
    }
    struct buf text = {0};
    for (; members->key; members++) {
        buf_addf(&text, ",\"%s\":", members->key);
        json_write_string(&text, sv_of(members->text));
    }
    enum pi_status status = add(s, type, &text, err);
    buf_finish(&text);
    return status;
}

enum pi_status session_add_model(struct session *s, const char *provider,
                                 const char *model, struct pi_error *err)
{
    const struct member members[] = {
        {"provider", provider}, {"modelId", model}, {NULL, NULL}};
    enum pi_status status = add_texts(s, ENTRY_MODEL_CHANGE, members, err);
    if (!status &&
        (!session_set(&s->provider, provider) || !session_set(&s->model, model))) {
        status = error_nomem(err);
    }
    return status;
}

enum pi_status session_add_thinking(struct session *s, const char *level,
                                    struct pi_error *err)
{
    const struct member members[] = {{"thinkingLevel", level}, {NULL, NULL}};
    enum pi_status status = add_texts(s, ENTRY_THINKING_LEVEL_CHANGE, members, err);
    if (!status && !session_set(&s->thinking, level)) {
        status = error_nomem(err);
    }
    return status;
}

enum pi_status session_add_name(struct session *s, const char *name, struct pi_error *err)
{
    const struct member members[] = {{"name", name}, {NULL, NULL}};
    enum pi_status status = add_texts(s, ENTRY_SESSION_INFO, members, err);
    if (!status && !session_set(&s->name, *name ? name : NULL)) {
        status = error_nomem(err);
    }
    return status;
}

enum pi_status session_sync(struct session *s, struct pi_error *err)
{
    return s->journal ? journal_sync(s->journal, err) : PI_OK;
}
