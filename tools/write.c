#include <stdlib.h>
#include <string.h>

#include "edit_diff.h"
#include "host/line_changes.h"
#include "syntax_note.h"
#include "sys/path.h"
#include "target.h"
#include "text/utf8.h"
#include "tool/change.h"
#include "tool/memory.h"
#include "tools.h"

enum {
    WRITE_TRIES = 3, // snapshots that may go stale under a write before it gives up
    SHOWN_MAX = 512 * 1024, // bytes of both texts for which faces get a diff
};

#define BOM "\xEF\xBB\xBF"

// One try of a write.
struct writing {
    struct tool_call *call;
    const struct host_target *target;
    struct host_snapshot snapshot;
    struct host_applied applied;
    struct sv text; // what will be in the file: the content, or with_bom
    struct buf with_bom;
    struct host_change *changes; // by lines, when both texts were compared
    size_t changes_len;
    bool same;          // nothing had to be written
    bool after_command; // a command changed the file since the model saw it
};

static void writing_finish(struct writing *w)
{
    host_snapshot_finish(&w->snapshot);
    host_applied_finish(&w->applied);
    buf_finish(&w->with_bom);
    free(w->changes);
    w->changes = NULL;
    w->changes_len = 0;
    w->snapshot = (struct host_snapshot){0};
    w->applied = (struct host_applied){0};
}

static struct sv old_text(const struct writing *w)
{
    return buf_sv(&w->snapshot.text);
}

// The model must not overwrite what it has not seen; of a file that is new to it nothing
// can be said.
static enum pi_status check_memory(struct writing *w, struct pi_error *err)
{
    struct file_memory *memory = w->call->context->memory;
    if (!memory || w->snapshot.is_new) {
        return PI_OK;
    }
    struct sv old = old_text(w);
    uint64_t hash = file_hash(FILE_HASH_START, old.p, old.n);
    const struct file_stamp *stamp =
        w->snapshot.origin.buffer ? NULL : &w->snapshot.stamp;
    enum memory_verdict verdict = file_memory_check(memory, w->target->key, stamp, hash);
    w->after_command = w->after_command || verdict == MEMORY_COMMAND;
    if (verdict != MEMORY_CHANGED) {
        return PI_OK;
    }
    return error_set(
        err, PI_CONFLICT,
        "%s was changed by somebody else since you last saw it, so nothing was "
        "written. Read it again and keep those changes, or send the same write "
        "again to overwrite them.",
        w->target->shown);
}

// The model does not see a byte order mark and cannot mean to remove it.
static enum pi_status keep_bom(struct writing *w, struct sv content, struct pi_error *err)
{
    w->text = content;
    if (!sv_starts(old_text(w), sv_of(BOM)) || sv_starts(content, sv_of(BOM))) {
        return PI_OK;
    }
    buf_adds(&w->with_bom, BOM);
    buf_addsv(&w->with_bom, content);
    w->text = buf_sv(&w->with_bom);
    return buf_ok(&w->with_bom) ? PI_OK : error_nomem(err);
}

// By lines, for a buffer and for showing.
static enum pi_status compare(struct writing *w, struct pi_error *err)
{
    struct sv old = old_text(w);
    bool shown = !w->snapshot.is_new && old.n + w->text.n <= SHOWN_MAX;
    if (!shown && !w->snapshot.origin.buffer) {
        return PI_OK;
    }
    return line_changes_make(&w->changes, &w->changes_len, old, w->text, err);
}

static enum pi_status apply(struct writing *w, struct pi_error *err)
{
    struct sv old = old_text(w);
    struct host_change whole = {.offset = 0, .length = old.n, .text = w->text};
    w->same = !w->snapshot.is_new && sv_eq(old, w->text);
    if (w->same) {
        return PI_OK;
    }
    enum pi_status st = compare(w, err);
    if (st != PI_OK) {
        return st;
    }
    // In a buffer only the lines that differ, so that markers and cursors stay.
    bool lines = w->snapshot.origin.buffer && w->changes_len > 0;
    return tool_change(&w->applied, w->call, &w->snapshot, lines ? w->changes : &whole,
                       lines ? w->changes_len : 1, err);
}

static enum pi_status try_write(struct writing *w, struct sv content,
                                struct pi_error *err)
{
    struct host *host = w->call->context->host;
    enum pi_status st =
        host->ops->snapshot(host, w->target, &w->snapshot, w->call->cancel, err);
    if (st == PI_OK) {
        st = check_memory(w, err);
    }
    if (st == PI_OK) {
        st = keep_bom(w, content, err);
    }
    return st == PI_OK ? apply(w, err) : st;
}

// Every LF of a text that has some belongs to a CRLF.
static bool is_crlf(struct sv text)
{
    struct sv line;
    bool any = false;
    while (sv_next_line(&text, &line)) {
        bool ended = text.p > line.p + line.n;
        if (ended && !sv_ends(line, sv_of("\r"))) {
            return false;
        }
        any = any || ended;
    }
    return any;
}

static bool is_ascii(struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

static void add_notes(struct buf *out, const struct writing *w)
{
    if (w->with_bom.len > 0) {
        buf_adds(out, "\n[The byte order mark at the start of the file was kept.]");
    }
    bool has_cr = w->text.n > 0 && memchr(w->text.p, '\r', w->text.n);
    bool has_lf = w->text.n > 0 && memchr(w->text.p, '\n', w->text.n);
    if (has_lf && !has_cr && is_crlf(old_text(w))) {
        buf_adds(out, "\n[The file had CRLF line ends before; now it has LF, as sent.]");
    }
    if (!is_ascii(w->text) && !utf8_valid(old_text(w))) {
        buf_adds(out,
                 "\n[The file was not UTF-8 before, perhaps in an 8-bit encoding; now "
                 "it is UTF-8.]");
    }
    if (w->after_command) {
        buf_adds(out, "\n[A command had changed the file since you last read it.]");
    }
    if (w->applied.changes) {
        buf_adds(out, "\n[The editor altered the text while it took it over, for example "
                      "by formatting. Read the file before you change it again.]");
    }
}

static enum pi_status say(struct tool_result *result, const struct writing *w,
                          struct pi_error *err)
{
    // On disk the bytes are counted in the file's own encoding.
    bool encoded = w->snapshot.encoding != HOST_BYTES && w->applied.saved;
    size_t bytes =
        encoded && !w->applied.in_editor ? (size_t)w->applied.stamp.size : w->text.n;
    struct buf text = {0};
    buf_addf(&text, "Successfully wrote %zu bytes to %s", bytes, w->target->shown);
    if (w->same) {
        buf_adds(&text, " (it had exactly this content before)");
    } else if (w->applied.in_editor && !w->applied.saved) {
        buf_adds(&text, " (in the editor's buffer, not saved yet)");
    }
    add_notes(&text, w);
    struct host_change whole = {.length = w->snapshot.text.len, .text = w->text};
    struct syntax_note note = {
        .call = w->call,
        .before = old_text(w),
        .is_new = w->snapshot.is_new,
        .changes = w->applied.changes ? w->applied.changes : &whole,
        .len = w->applied.changes ? w->applied.changes_len : 1,
    };
    if (!w->same) {
        syntax_note_add(&text, &note);
    }
    bool ok = buf_ok(&text) && tool_result_text(result, buf_sv(&text));
    buf_finish(&text);
    return ok ? PI_OK : error_nomem(err);
}

// Nothing was there to be compared with.
static enum pi_status say_created(struct json **details, struct pi_error *err)
{
    *details = json_new_object();
    return *details && json_set(*details, "created", json_new_bool(true))
               ? PI_OK
               : error_nomem(err);
}

static enum pi_status record(struct tool_result *result, const struct writing *w,
                             struct pi_error *err)
{
    struct edit_lines lines = {0}; // of no change = the whole file
    struct edit_diff diff = {
        .path = path_relative(w->target->path, w->call->context->cwd),
        .text = old_text(w),
        .changes = w->applied.changes ? w->applied.changes : w->changes,
        .len = w->applied.changes ? w->applied.changes_len : w->changes_len,
        .patch = w->snapshot.encoding == HOST_BYTES,
    };
    enum pi_status st = PI_OK;
    if (diff.len > 0 && !w->snapshot.is_new) {
        st = edit_diff_make(&result->details, &lines, &diff, err);
    } else if (w->snapshot.is_new) {
        st = say_created(&result->details, err);
    }
    struct tool_file_change change = {
        .path = w->target->path,
        .first_line = lines.first,
        .lines = lines.count,
        .saved = w->applied.saved,
        .in_editor = w->applied.in_editor,
    };
    if (st == PI_OK && !tool_result_changed(result, &change)) {
        st = error_nomem(err);
    }
    return st;
}

// What the model made it has seen.
static void remember(const struct writing *w)
{
    struct file_memory *memory = w->call->context->memory;
    struct buf altered = {0};
    uint64_t hash = 0;
    if (!memory) {
        return;
    }
    if (!w->applied.changes) {
        hash = file_hash(FILE_HASH_START, w->text.p, w->text.n);
    } else if (host_changed_text(&altered, old_text(w), w->applied.changes,
                                 w->applied.changes_len) == PI_OK) {
        hash = file_hash(FILE_HASH_START, altered.data, altered.len);
    }
    const struct file_stamp *stamp = w->same ? &w->snapshot.stamp : &w->applied.stamp;
    file_memory_saw(memory, w->target->key, w->target->path,
                    w->snapshot.origin.buffer ? NULL : stamp, hash);
    buf_finish(&altered);
}

// The text is written: what is left is to tell, and that must not look like a failure.
static void tell(struct tool_result *result, const struct writing *w)
{
    remember(w);
    bool told = w->same || record(result, w, NULL) == PI_OK;
    if (!told || say(result, w, NULL) != PI_OK) {
        (void)!tool_result_text(result, sv_of("The file was written, but there was no "
                                              "memory left to describe it."));
    }
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    struct writing w = {.call = call, .target = &call->plan.target};
    struct sv content = sv_of(json_get_str(call->args, "content"));
    if (w.target->exists && S_ISDIR(w.target->mode)) {
        return error_set(err, PI_INVALID, "%s is a directory; name a file in it",
                         w.target->shown);
    }
    enum pi_status st = PI_STALE;
    for (int i = 0; st == PI_STALE && i < WRITE_TRIES; i++) {
        writing_finish(&w);
        st = try_write(&w, content, err);
    }
    if (st == PI_STALE) {
        error_set(
            err, PI_STALE,
            "Somebody else is changing %s right now, so nothing was written. Read it "
            "again before you write to it.",
            w.target->shown);
    }
    if (st == PI_OK) {
        tell(result, &w);
    }
    writing_finish(&w);
    return st;
}

// "dir/" and "dir/.." name folders, whether they exist or not.
static bool names_folder(const char *path)
{
    const char *last = path_base(path);
    return !*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

static enum pi_status plan(struct tool_plan *out, const struct json *args,
                           const struct tool_context *context, struct pi_error *err)
{
    const char *path = json_get_str(args, "path");
    if (path && names_folder(path)) {
        return error_set(err, PI_INVALID,
                         "path: \"%s\" names a directory; give the name of a file", path);
    }
    return target_plan(out, args, context, TOOL_CHANGE, err);
}

static const char *const guidelines[] = {
    "Use write for new files and complete rewrites only; change parts of a file with "
    "edit.",
    NULL,
};

const struct pi_tool_definition tool_write = {
    .name = "write",
    .label = "Write",
    .description = "Puts exactly this text into a file: creates it with the folders that "
                   "are missing, or replaces all of its content.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative "
        "to the working directory\"},"
        "\"content\":{\"type\":\"string\",\"description\":\"The whole new text of the "
        "file\"}},"
        "\"required\":[\"path\",\"content\"]}",
    .snippet = "create a file or replace its whole content",
    .guidelines = guidelines,
    .title = "write {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_SEQUENTIAL,
    .plan = plan,
    .execute = execute,
};
