#include <stdlib.h>
#include <string.h>

#include "edit_diff.h"
#include "edit_plan.h"
#include "syntax_note.h"
#include "sys/path.h"
#include "target.h"
#include "tool/change.h"
#include "tool/memory.h"
#include "tools.h"

enum {
    EDIT_TRIES = 4, // the first and three more with a fresh snapshot
    // Files up to here are remembered by content, too; of larger ones the stamp must do.
    HASHED_MAX = 16 * 1024 * 1024,
};

// One call.
struct editing {
    struct tool_call *call;
    const struct host_target *target;
    struct edit_request *edits;
    size_t len;
    struct host_snapshot snapshot;
    struct edit_plan plan;
    struct host_change *changes; // of the plan
    struct host_applied applied;
    bool unseen; // somebody changed the file since the model saw it
};

static void forget_try(struct editing *e)
{
    free(e->changes);
    e->changes = NULL;
    edit_plan_finish(&e->plan);
    host_snapshot_finish(&e->snapshot);
    host_applied_finish(&e->applied);
    e->plan = (struct edit_plan){0};
    e->snapshot = (struct host_snapshot){0};
    e->applied = (struct host_applied){0};
}

static enum pi_status read_edits(struct editing *e, struct pi_error *err)
{
    const struct json *list = json_get(e->call->args, "edits");
    e->edits = calloc(json_len(list) + 1, sizeof(*e->edits));
    if (!e->edits) {
        return error_nomem(err);
    }
    for (const struct json *j = json_first(list); j; j = json_next(j)) {
        e->edits[e->len++] = (struct edit_request){
            .old_text = sv_of(json_get_str(j, "oldText")),
            .new_text = sv_of(json_get_str(j, "newText")),
        };
    }
    return e->len > 0 ? PI_OK
                      : error_set(err, PI_INVALID,
                                  "edits: empty; give at least one edit "
                                  "of the form {oldText, newText}");
}

static enum pi_status take_snapshot(struct editing *e, struct pi_error *err)
{
    struct host *host = e->call->context->host;
    enum pi_status st =
        host->ops->snapshot(host, e->target, &e->snapshot, e->call->cancel, err);
    if (st == PI_OK && e->snapshot.is_new) {
        return error_set(err, PI_NOT_FOUND,
                         "%s does not exist. Use write to create it, or find or ls to "
                         "look for the right name.",
                         e->target->shown);
    }
    return st;
}

static bool is_hashed(const struct editing *e)
{
    return e->snapshot.origin.buffer || e->snapshot.text.len <= HASHED_MAX;
}

// Lines that the edit does not touch may be others than the model remembers.
static void look_for_unseen(struct editing *e)
{
    struct file_memory *memory = e->call->context->memory;
    if (!memory) {
        return;
    }
    struct sv text = buf_sv(&e->snapshot.text);
    uint64_t hash = is_hashed(e) ? file_hash(FILE_HASH_START, text.p, text.n) : 0;
    const struct file_stamp *stamp =
        e->snapshot.origin.buffer ? NULL : &e->snapshot.stamp;
    e->unseen = file_memory_peek(memory, e->target->key, stamp, hash) == MEMORY_CHANGED;
}

static enum pi_status apply(struct editing *e, struct pi_error *err)
{
    e->changes = edit_changes_list(&e->plan.changes);
    if (!e->changes) {
        return error_nomem(err);
    }
    return tool_change(&e->applied, e->call, &e->snapshot, e->changes,
                       e->plan.changes.len, err);
}

static enum pi_status try_edit(struct editing *e, struct pi_error *err)
{
    enum pi_status st = take_snapshot(e, err);
    if (st == PI_OK) {
        st = edit_plan_make(&e->plan, buf_sv(&e->snapshot.text), e->target->shown,
                            e->edits, e->len, e->call->cancel, err);
    }
    if (st == PI_OK) {
        look_for_unseen(e);
        st = apply(e, err);
    }
    return st;
}

// The changes as they ended up.
static const struct host_change *final_changes(const struct editing *e, size_t *len)
{
    if (e->applied.changes) {
        *len = e->applied.changes_len;
        return e->applied.changes;
    }
    *len = e->plan.changes.len;
    return e->changes;
}

// What the model made it has seen, but not what others made of the rest of the file.
static void remember(const struct editing *e)
{
    struct file_memory *memory = e->call->context->memory;
    bool buffer = e->snapshot.origin.buffer;
    if (!memory || e->unseen) {
        return;
    }
    struct sv text = buf_sv(&e->snapshot.text);
    uint64_t hash = 0;
    if (is_hashed(e)) {
        size_t len, at = 0;
        const struct host_change *changes = final_changes(e, &len);
        hash = FILE_HASH_START;
        for (size_t i = 0; i < len; i++) {
            const struct host_change *c = &changes[i];
            hash = file_hash(hash, text.p + at, c->offset - at);
            hash = file_hash(hash, c->text.p, c->text.n);
            at = c->offset + c->length;
        }
        hash = file_hash(hash, text.p + at, text.n - at);
    }
    file_memory_saw(memory, e->target->key, e->target->path,
                    buffer ? NULL : &e->applied.stamp, hash);
}

static enum pi_status record(struct tool_result *result, const struct editing *e,
                             struct pi_error *err)
{
    struct edit_lines lines = {0};
    char *cwd = NULL; // the target's path is a real one
    bool real = path_real(&cwd, e->call->context->cwd, NULL) == PI_OK;
    struct edit_diff diff = {
        .path = path_relative(e->target->path, real ? cwd : e->call->context->cwd),
        .text = buf_sv(&e->snapshot.text),
        .patch = e->snapshot.encoding == HOST_BYTES,
    };
    diff.changes = final_changes(e, &diff.len);
    enum pi_status st = edit_diff_make(&result->details, &lines, &diff, err);
    struct tool_file_change change = {
        .path = e->target->path,
        .first_line = lines.first,
        .lines = lines.count,
        .saved = e->applied.saved,
        .in_editor = e->applied.in_editor,
    };
    if (st == PI_OK && !tool_result_changed(result, &change)) {
        st = error_nomem(err);
    }
    free(cwd);
    return st;
}

static enum pi_status say(struct tool_result *result, const struct editing *e,
                          struct pi_error *err)
{
    struct buf text = {0};
    buf_addf(&text, "Successfully replaced %zu block(s) in %s.", e->len,
             e->target->shown);
    if (e->applied.in_editor && !e->applied.saved) {
        buf_adds(&text, " (unsaved changes in the editor buffer; not saved)");
    }
    if (e->unseen) {
        buf_adds(&text,
                 "\n[The file had been changed since you last saw it, outside of what "
                 "you edited. Read it again before you rely on the rest.]");
    }
    if (e->applied.changes) {
        buf_adds(&text, "\n[The editor altered the text while it took it over, for "
                        "example by formatting. Read the file before you change it "
                        "again.]");
    }
    buf_addsv(&text, buf_sv(&e->plan.notes));
    struct syntax_note note = {.call = e->call, .before = buf_sv(&e->snapshot.text)};
    note.changes = final_changes(e, &note.len);
    syntax_note_add(&text, &note);
    bool ok = buf_ok(&text) && tool_result_text(result, buf_sv(&text));
    buf_finish(&text);
    return ok ? PI_OK : error_nomem(err);
}

// The file is changed: what is left is to tell, and that must not look like a failure.
static void tell(struct tool_result *result, const struct editing *e)
{
    remember(e);
    if (record(result, e, NULL) != PI_OK || say(result, e, NULL) != PI_OK) {
        (void)!tool_result_text(result,
                                sv_of("The edit was made, but there was no memory "
                                      "left to describe it."));
    }
}

static enum pi_status explain(struct tool_result *result, const struct editing *e,
                              enum pi_status st, struct pi_error *err)
{
    if (st == PI_INVALID && e->plan.problem.len > 0) {
        tool_result_error(result, buf_cstr(&e->plan.problem));
        return PI_OK;
    }
    if (st == PI_STALE) {
        return error_set(
            err, PI_STALE,
            "Somebody is editing %s right now: it changed again and again "
            "while the edit was prepared. Nothing was changed. Wait a moment, "
            "read the file and try again.",
            e->target->shown);
    }
    return st;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    struct editing e = {.call = call, .target = &call->plan.target};
    if (e.target->exists && S_ISDIR(e.target->mode)) {
        return error_set(err, PI_INVALID, "%s is a directory; name a file in it",
                         e.target->shown);
    }
    enum pi_status st = read_edits(&e, err);
    for (int i = 0; st == PI_OK && i < EDIT_TRIES; i++) {
        forget_try(&e);
        st = try_edit(&e, err);
        if (st != PI_STALE) {
            break;
        }
        st = i + 1 < EDIT_TRIES ? PI_OK : PI_STALE;
    }
    if (st == PI_OK) {
        tell(result, &e);
    } else {
        st = explain(result, &e, st, err);
    }
    forget_try(&e);
    free(e.edits);
    return st;
}

static enum pi_status plan(struct tool_plan *out, const struct json *args,
                           const struct tool_context *context, struct pi_error *err)
{
    return target_plan(out, args, context, TOOL_CHANGE, err);
}

// ---- repair of arguments

// A string that holds the JSON of the edits becomes them.
static enum pi_status parse_edits(struct json *args, struct pi_error *err)
{
    const char *text = json_str(json_get(args, "edits"));
    struct json *edits = NULL;
    if (!text || json_parse(&edits, sv_of(text), NULL, NULL) != PI_OK) {
        return PI_OK; // the validator says what is wrong
    }
    enum json_type type = json_type(edits);
    if (type != JSON_ARRAY && type != JSON_OBJECT) {
        json_destroy(edits);
        return PI_OK;
    }
    return json_set(args, "edits", edits) ? PI_OK : error_nomem(err);
}

static enum pi_status wrap_edit(struct json *args, struct pi_error *err)
{
    if (json_type(json_get(args, "edits")) != JSON_OBJECT) {
        return PI_OK;
    }
    struct json *edit = json_remove(args, "edits");
    struct json *list = json_new_array();
    if (!list) {
        json_destroy(edit);
        return error_nomem(err);
    }
    bool ok = json_push(list, edit);
    return json_set(args, "edits", list) && ok ? PI_OK : error_nomem(err);
}

// oldText and newText beside path are one edit more.
static enum pi_status take_top_level(struct json *args, struct pi_error *err)
{
    const char *old = json_get_str(args, "oldText");
    const char *new = json_get_str(args, "newText");
    struct json *list = json_get(args, "edits");
    if (!old || !new || (list && json_type(list) != JSON_ARRAY)) {
        return PI_OK;
    }
    if (!list) {
        if (!json_set(args, "edits", json_new_array())) {
            return error_nomem(err);
        }
        list = json_get(args, "edits");
    }
    struct json *edit = json_new_object();
    bool ok =
        edit && json_set_str(edit, "oldText", old) && json_set_str(edit, "newText", new);
    if (!ok) {
        json_destroy(edit);
        return error_nomem(err);
    }
    if (!json_push(list, edit)) {
        return error_nomem(err);
    }
    json_destroy(json_remove(args, "oldText"));
    json_destroy(json_remove(args, "newText"));
    return PI_OK;
}

static enum pi_status prepare(struct json **args, struct pi_error *err)
{
    enum pi_status st = parse_edits(*args, err);
    if (st == PI_OK) {
        st = wrap_edit(*args, err);
    }
    return st == PI_OK ? take_top_level(*args, err) : st;
}

static const char *const guidelines[] = {
    "Change parts of files with edit; each oldText must be copied from the file as it is "
    "and occur there exactly once.",
    "Put several separate changes of one file into one edit call; each oldText is looked "
    "up in the file as it was before the call, so edits must not overlap.",
    "Merge changes of the same or of neighbouring lines into one edit.",
    "Keep oldText as short as it can be while it is still unique; do not pad it with "
    "unchanged lines.",
    NULL,
};

const struct pi_tool_definition tool_edit = {
    .name = "edit",
    .label = "Edit",
    .description =
        "Replaces pieces of one file. Every oldText must stand in the file exactly once "
        "and is replaced by its newText; the rest of the file stays as it is, byte for "
        "byte. Either all edits of a call are made or none.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative "
        "to the working directory\"},"
        "\"edits\":{\"type\":\"array\",\"minItems\":1,\"description\":\"The "
        "replacements, "
        "all found in the file as it is before the call\","
        "\"items\":{\"type\":\"object\",\"properties\":{"
        "\"oldText\":{\"type\":\"string\",\"description\":\"Text of the file to replace, "
        "exact and unique; it must not overlap with that of another edit\"},"
        "\"newText\":{\"type\":\"string\",\"description\":\"What takes its place, taken "
        "literally\"}},"
        "\"required\":[\"oldText\",\"newText\"],\"additionalProperties\":false}}},"
        "\"required\":[\"path\",\"edits\"],\"additionalProperties\":false}",
    .snippet = "replace exact pieces of text in a file",
    .guidelines = guidelines,
    .title = "edit {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_SEQUENTIAL,
    .prepare = prepare,
    .plan = plan,
    .execute = execute,
};
