#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "sys/path.h"
#include "target.h"
#include "text/glob.h"
#include "text/truncate.h"
#include "tools.h"

enum { RESULTS = 1000 };

struct finder {
    struct sv pattern;
    unsigned flags;
    bool whole_path; // match the path below the folder, else the name
    bool folders;    // nothing else
    size_t limit, found;
    bool more;
    struct rows rows;
};

static bool visit(void *data, const struct walk_entry *entry)
{
    struct finder *f = data;
    bool is_folder = entry->kind == WALK_FOLDER;
    if (f->folders && !is_folder) {
        return true;
    }
    const char *text = f->whole_path ? entry->path : entry->name;
    if (!glob_match(f->pattern, sv_of(text), f->flags)) {
        return true;
    }
    // One more than is shown tells whether there are more.
    if (f->found == f->limit || f->rows.text.len > TRUNCATE_MAX_BYTES) {
        f->more = true;
        return false;
    }
    f->found++;
    rows_add_name(&f->rows, sv_of(entry->path));
    buf_adds(&f->rows.text, is_folder ? "/\n" : "\n");
    return buf_ok(&f->rows.text);
}

static bool has_upper(struct sv s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] >= 'A' && s.p[i] <= 'Z') {
            return true;
        }
    }
    return false;
}

static void set_pattern(struct finder *f, struct sv pattern, const char *root)
{
    struct sv below = sv_of(root);
    if (sv_starts(pattern, below) && pattern.n > below.n && pattern.p[below.n] == '/') {
        pattern = sv_from(pattern, below.n + 1);
        f->whole_path = true;
    }
    while (sv_starts(pattern, sv_of("./"))) {
        pattern = sv_from(pattern, 2);
        f->whole_path = true;
    }
    while (pattern.n > 1 && pattern.p[pattern.n - 1] == '/') {
        pattern.n--;
        f->folders = true;
    }
    f->whole_path = f->whole_path || memchr(pattern.p, '/', pattern.n) != NULL ||
                    sv_eqs(pattern, "**");
    f->pattern = pattern;
    f->flags = GLOB_BRACES | (has_upper(pattern) ? 0 : GLOB_IGNORE_CASE);
}

static void note_nothing(struct finder *f, const struct host_target *t,
                         const struct walk_report *report)
{
    struct buf *out = &f->rows.text;
    struct buf skipped = {0};
    buf_addf(out, "Nothing found (searched %s).", t->shown);
    if (f->pattern.n > 0 && f->pattern.p[0] == '/') {
        buf_adds(out, " The pattern is matched against paths below that folder, which "
                      "do not begin with a slash.");
    } else if (f->whole_path && !sv_starts(f->pattern, sv_of("**"))) {
        buf_adds(out, " A pattern with a slash begins at that folder; put **/ in front "
                      "for any depth.");
    }
    buf_addc(out, '\n');
    if (rows_add_skipped(&skipped, report)) {
        rows_begin_note(&f->rows);
        buf_adds(&f->rows.notes, "Not searched: ");
        buf_addsv(&f->rows.notes, buf_sv(&skipped));
        buf_adds(&f->rows.notes, ".]");
    }
    f->rows.notes.failed = f->rows.notes.failed || !buf_ok(&skipped);
    buf_finish(&skipped);
}

static bool add_notes(struct finder *f, const struct host_target *t,
                      const struct walk_report *report)
{
    struct rows *r = &f->rows;
    if (f->found == 0) {
        note_nothing(f, t, report);
    } else if (report->unreadable > 0) {
        struct walk_report unreadable = {.unreadable = report->unreadable};
        rows_begin_note(r);
        buf_adds(&r->notes, "Not searched: ");
        (void)rows_add_skipped(&r->notes, &unreadable);
        buf_adds(&r->notes, ".]");
    }
    if (f->more && f->found == f->limit) {
        rows_begin_note(r);
        buf_addf(&r->notes,
                 "The first %zu results by path; there are more. Use limit=%zu or a "
                 "narrower pattern or path.]",
                 f->limit, 2 * f->limit);
        return rows_detail(r, "resultLimitReached", f->limit);
    }
    return true;
}

static enum pi_status check_folder(const struct host_target *t, struct pi_error *err)
{
    if (!t->exists) {
        return error_set(err, PI_NOT_FOUND, "%s: no such folder (looked for %s)",
                         t->shown, t->path);
    }
    if (!S_ISDIR(t->mode)) {
        return error_set(err, PI_INVALID,
                         "%s is a %s, not a folder; find looks for files below a folder",
                         t->shown, file_kind_name(t->mode));
    }
    return PI_OK;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    const struct host_target *t = &call->plan.target;
    const char *pattern = json_get_str(call->args, "pattern");
    struct finder f = {0};
    struct walk_report report;
    struct walk_options options = {.root = t->path,
                                   .rules = rows_places(call->context),
                                   .ignored = json_get_bool(call->args, "ignored", false),
                                   .cancel = call->cancel};
    if (!pattern || !*pattern) {
        return error_set(err, PI_INVALID,
                         "pattern: missing; give a glob such as *.c or src/**/*.c");
    }
    enum pi_status st = rows_limit(&f.limit, call->args, RESULTS, err);
    if (st == PI_OK) {
        st = check_folder(t, err);
    }
    if (st == PI_OK) {
        set_pattern(&f, sv_of(pattern), t->path);
        st = walk_tree(&options, visit, &f, &report, err);
    }
    if (st == PI_OK && !add_notes(&f, t, &report)) {
        st = error_nomem(err);
    }
    if (st == PI_OK) {
        return rows_result(result, &f.rows, err);
    }
    rows_finish(&f.rows);
    return st;
}

const struct pi_tool_definition tool_find = {
    .name = "find",
    .label = "Find",
    .description =
        "Finds files and folders by a glob pattern: * ? ** {a,b} [a-z]. Without a slash "
        "it is matched against names at any depth, with one against the path below the "
        "folder. A pattern in lower case matches any case. Hidden files are found, what "
        "ignore rules leave out and .git are not. Sorted by path; at most 1000 results "
        "or 50KB.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"pattern\":{\"type\":\"string\",\"description\":\"Glob, for example *.c or "
        "src/**/*.test.ts\"},"
        "\"path\":{\"type\":\"string\",\"description\":\"The folder to search; the "
        "working directory when left out\"},"
        "\"limit\":{\"type\":\"number\",\"description\":\"How many results to show\"},"
        "\"ignored\":{\"type\":\"boolean\",\"description\":\"Also what ignore rules "
        "leave out\"}},"
        "\"required\":[\"pattern\"]}",
    .snippet = "find files by name",
    .title = "find {pattern} {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_PARALLEL,
    .plan = target_plan_tree,
    .execute = execute,
};
