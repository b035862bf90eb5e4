// Reads a session file into the index: every line is looked at, only few are parsed.

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/entry_head.h"
#include "session/session_inside.h"

enum { HEADER_MAX = JOURNAL_HEAD_BYTES, ENTRY_ID_MAX = 1024, TOLD_MAX = 8 };

struct scan {
    struct session *session;
    struct buf *problems;
    size_t damaged; // lines
    bool header;    // was read
    int32_t info;   // the last session_info entry
    enum pi_status status;
    struct pi_error *err;
};

static void tell_damaged(struct scan *s, const struct journal_line *line)
{
    if (++s->damaged > TOLD_MAX) {
        return;
    }
    const char *what =
        line->whole ? "is damaged" : "was cut off when its writing was interrupted";
    buf_addf(s->problems, "%s: line %zu %s; it is left out\n", s->session->path,
             line->number, what);
}

static bool is_blank(const struct journal_line *line)
{
    if (line->length != line->head.n) {
        return false;
    }
    for (size_t i = 0; i < line->head.n; i++) {
        if (!strchr(" \t\r", line->head.p[i]) || line->head.p[i] == '\0') {
            return false;
        }
    }
    return true;
}

static bool usable(struct sv id)
{
    return id.n <= ENTRY_ID_MAX && (id.n == 0 || !memchr(id.p, '\0', id.n));
}

// What the head says about an entry. False: it does not say enough to be one.
static bool describe(struct index_new *out, const struct entry_head *head)
{
    if (!usable(head->id) || !usable(head->parent)) {
        return false;
    }
    out->id = head->id;
    out->parent = head->parent;
    out->follow = !head->parent_given;
    out->type = head->type.p ? entry_type_of(head->type) : ENTRY_LOST;
    return head->type.p != NULL;
}

static void add(struct scan *s, const struct index_new *entry)
{
    int32_t at = index_add(&s->session->index, entry);
    if (at == INDEX_NONE) {
        s->status = error_nomem(s->err);
    } else if (entry->type == ENTRY_SESSION_INFO) {
        s->info = at;
    }
}

static struct sv member(const struct json *entry, const char *key)
{
    return sv_of(json_get_str(entry, key));
}

// Parses the whole line. False: it is damaged, or s->status says why not.
static bool parse_head(struct scan *s, const struct journal_line *line, struct json **out,
                       struct entry_head *head)
{
    struct buf text = {0};
    struct pi_error why = {0};
    enum pi_status status = journal_read(s->session->journal, line->offset, &text, &why);
    if (!status) {
        status = json_parse(out, buf_sv(&text), NULL, &why);
    }
    buf_finish(&text);
    if (status == PI_NOMEM || status == PI_IO) {
        s->status = error_set(s->err, status, "%s", why.message);
    }
    if (status || json_type(*out) != JSON_OBJECT) {
        return false;
    }
    *head = (struct entry_head){
        .type = member(*out, "type"),
        .id = member(*out, "id"),
        .parent = member(*out, "parentId"),
        .parent_given = json_get(*out, "parentId") != NULL,
    };
    return true;
}

// A line that ends well and begins well is taken as whole; it is parsed when needed.
static bool ends_like_one(const struct journal_line *line)
{
    return line->last == '}' || line->last == ' ' || line->last == '\r' ||
           line->last == '\t';
}

static void take_entry(struct scan *s, const struct journal_line *line)
{
    struct entry_head head;
    struct json *parsed = NULL;
    struct index_new entry = {0};
    bool cut = line->length > line->head.n;
    enum entry_head_result result = entry_head_read(&head, line->head, cut);
    bool sound = result == ENTRY_HEAD_OK && line->whole && ends_like_one(line);
    if (result == ENTRY_HEAD_PARSE || (result == ENTRY_HEAD_OK && !line->whole)) {
        sound = parse_head(s, line, &parsed, &head);
    }
    bool described = describe(&entry, &head);
    bool repeated_header = described && sv_eqs(head.type, "session");
    if (!s->status && !repeated_header) {
        entry.offset = line->offset;
        if (!sound || !described) {
            tell_damaged(s, line);
            entry.type = ENTRY_LOST;
        }
        // The children of a damaged entry still find its parent.
        if (sound ? described : entry.id.n > 0) {
            add(s, &entry);
        }
    }
    json_destroy(parsed);
}

static bool take_line(void *data, const struct journal_line *line)
{
    struct scan *s = data;
    if (is_blank(line)) {
        return true;
    }
    if (s->header) {
        take_entry(s, line);
    } else {
        struct sv text = line->length <= HEADER_MAX ? line->head : sv_of("");
        s->status = session_read_header(s->session, text, s->err);
        s->header = true;
    }
    return s->status == PI_OK;
}

static enum pi_status read_name(struct scan *s)
{
    struct json *entry = NULL;
    if (s->info == INDEX_NONE) {
        return PI_OK;
    }
    enum pi_status status = session_parse_entry(s->session, s->info, &entry, NULL);
    const char *name = json_get_str(entry, "name");
    if (status == PI_OK && name && *name && !session_set(&s->session->name, name)) {
        status = PI_NOMEM;
    }
    json_destroy(entry);
    return status == PI_NOMEM ? error_nomem(s->err) : PI_OK;
}

// The last entry that can be read. It becomes a parent, so it is not taken on trust.
static enum pi_status find_leaf(struct scan *s)
{
    struct index *x = &s->session->index;
    int32_t at = (int32_t)x->len - 1;
    for (;; at = x->entries[at].parent) {
        at = index_readable(x, at);
        struct json *entry = NULL;
        enum pi_status status = at == INDEX_NONE
                                    ? PI_OK
                                    : session_parse_entry(s->session, at, &entry, s->err);
        json_destroy(entry);
        if (status == PI_OK) {
            s->session->leaf = at;
            return PI_OK;
        }
        if (status == PI_NOMEM || status == PI_IO) {
            return status;
        }
        x->entries[at].type = ENTRY_LOST;
        buf_addf(s->problems, "%s: the entry %s is damaged; it is left out\n",
                 s->session->path, index_id(x, at));
    }
}

enum pi_status session_scan(struct session *session, struct buf *problems,
                            struct pi_error *err)
{
    struct scan s = {
        .session = session, .problems = problems, .info = INDEX_NONE, .err = err};
    index_finish(&session->index);
    enum pi_status status = journal_scan(session->journal, take_line, &s, err);
    if (!status) {
        status = s.status;
    }
    if (!status && !s.header) {
        status = session_read_header(session, sv_of(""), err);
    }
    if (!status && s.damaged > TOLD_MAX) {
        buf_addf(problems, "%s: %zu more lines are damaged; they are left out\n",
                 session->path, s.damaged - TOLD_MAX);
    }
    if (!status) {
        status = read_name(&s);
    }
    return status ? status : find_leaf(&s);
}
