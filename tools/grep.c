#include <string.h>

#include "grep_pool.h"
#include "sys/path.h"
#include "target.h"
#include "text/glob.h"
#include "tools.h"

enum { MATCHES = 100, CONTEXT_MAX = 100 };

struct search {
    struct grep_file file;
    struct grep_pool *pool;
    struct sv glob; // n = 0: every file
    bool glob_excludes;
    struct pi_error *err;
    size_t other_names;
    struct walk_report report;
};

/* -------------------------------------------------------------------------- files -- */

static bool wanted(const struct search *s, const struct walk_entry *entry)
{
    if (s->glob.n == 0) {
        return true;
    }
    bool path = memchr(s->glob.p, '/', s->glob.n) != NULL;
    struct sv text = sv_of(path ? entry->path : entry->name);
    return glob_match(s->glob, text, GLOB_BRACES) != s->glob_excludes;
}

static bool visit(void *data, const struct walk_entry *entry)
{
    struct search *s = data;
    if (entry->kind != WALK_FILE) {
        return true;
    }
    if (!wanted(s, entry)) {
        s->other_names++;
        return true;
    }
    return grep_pool_add(s->pool, entry);
}

static bool take(void *data, struct sv bytes)
{
    struct buf *file = data;
    if (file->len > GREP_FILE_MAX) {
        return false;
    }
    buf_addsv(file, bytes);
    return buf_ok(file);
}

// A file that was named is read as the read tool reads it: also from an editor's buffer.
static enum pi_status search_named(struct search *s, struct tool_call *call)
{
    const struct host_target *t = &call->plan.target;
    struct host *host = call->context->host;
    struct host_origin origin = {0};
    struct file_stamp stamp;
    struct buf *bytes = &s->file.bytes;
    enum pi_status st =
        host->ops->read(host, t, 0, take, bytes, &origin, &stamp, call->cancel, s->err);
    if (st == PI_OK && !buf_ok(bytes)) {
        st = error_nomem(s->err);
    }
    if (st == PI_OK && bytes->len > GREP_FILE_MAX) {
        st = error_set(s->err, PI_LIMIT,
                       "%s is too large for grep (over 256MB). Use grep in bash.",
                       t->shown);
    }
    return st == PI_OK ? grep_file_bytes(&s->file, sv_of(path_base(t->path)), s->err)
                       : st;
}

static enum pi_status search_tree(struct search *s, struct tool_call *call)
{
    struct walk_options options = {.root = call->plan.target.path,
                                   .rules = rows_places(call->context),
                                   .ignored = json_get_bool(call->args, "ignored", false),
                                   .cancel = call->cancel};
    struct pi_error why = {0};
    enum pi_status st = grep_pool_create(&s->pool, &s->file, &why);
    if (st == PI_OK) {
        st = walk_tree(&options, visit, s, &s->report, s->err);
    }
    enum pi_status found = grep_pool_end(s->pool);
    if (st == PI_OK && found != PI_OK) {
        error_set(s->err, found, "%s", why.message);
    }
    return st == PI_OK ? found : st;
}

/* -------------------------------------------------------------------------- report -- */

static void add_part(struct buf *out, size_t n, const char *one, const char *many)
{
    if (n > 0) {
        buf_addf(out, "%s%zu %s", out->len > 0 ? ", " : "", n, n == 1 ? one : many);
    }
}

// What was in scope and not searched. Rules and binary files are only worth a word when
// nothing was found.
static void note_skipped(struct search *s, bool nothing)
{
    struct walk_report report = s->report;
    struct buf parts = {0};
    if (!nothing) {
        report.ignored = 0;
    }
    (void)rows_add_skipped(&parts, &report);
    add_part(&parts, nothing ? s->file.counts.binary : 0, "binary file", "binary files");
    add_part(&parts, s->file.counts.large, "file over 256MB", "files over 256MB");
    add_part(&parts, s->file.counts.unreadable, "file that could not be read",
             "files that could not be read");
    if (parts.len > 0) {
        rows_begin_note(&s->file.grep.rows);
        buf_addf(&s->file.grep.rows.notes, "Not searched: %s.]", buf_cstr(&parts));
    }
    s->file.grep.rows.notes.failed = s->file.grep.rows.notes.failed || !buf_ok(&parts);
    buf_finish(&parts);
}

static void say_nothing(struct search *s, const struct tool_call *call)
{
    struct buf *out = &s->file.grep.rows.text;
    const char *pattern = json_get_str(call->args, "pattern");
    const char *shown = call->plan.target.shown;
    if (s->file.counts.files == 0 && s->glob.n > 0) {
        buf_addf(out, "No matches: no file in %s matches the glob", shown);
    } else {
        buf_addf(out, "No matches in %s (%zu file%s searched)", shown,
                 s->file.counts.files, s->file.counts.files == 1 ? "" : "s");
    }
    buf_adds(out, ".");
    if (!json_get_bool(call->args, "literal", false) && strstr(pattern, "\\n")) {
        buf_adds(out, " The search is line by line, so \\n matches nothing.");
    }
    buf_addc(out, '\n');
}

static void say_binary(struct search *s, const struct tool_call *call)
{
    struct regex_match match;
    enum pi_status st =
        regex_search(s->file.grep.matcher, buf_sv(&s->file.bytes), 0, &match, NULL);
    buf_addf(&s->file.grep.rows.text, "%s is a binary file (%s). ",
             call->plan.target.shown, s->file.type.name);
    if (st == PI_OK) {
        buf_addf(&s->file.grep.rows.text,
                 "It has a match at byte %zu; to see it, use "
                 "grep -a in bash.\n",
                 match.start);
    } else if (st == PI_NOT_FOUND) {
        buf_adds(&s->file.grep.rows.text, "No matches in its bytes.\n");
    } else {
        buf_adds(&s->file.grep.rows.text, "The pattern is too complex for its bytes.\n");
    }
}

static bool note_limits(struct search *s)
{
    struct grep *g = &s->file.grep;
    bool ok = true;
    if (g->more && g->matches == g->limit) {
        rows_begin_note(&g->rows);
        buf_addf(&g->rows.notes,
                 "The first %zu match%s by path; there are more. Use limit=%zu or a "
                 "narrower pattern, path or glob.]",
                 g->limit, g->limit == 1 ? "" : "es", 2 * g->limit);
        ok = rows_detail(&g->rows, "matchLimitReached", g->limit);
    }
    if (g->cut_lines > 0) {
        rows_begin_note(&g->rows);
        buf_adds(&g->rows.notes, "Long lines are cut to 500 bytes around the match; read "
                                 "shows them whole.]");
        ok = ok && rows_detail(&g->rows, "linesTruncated", g->cut_lines);
    }
    if (g->complex > 0) {
        rows_begin_note(&g->rows);
        buf_addf(&g->rows.notes,
                 "The pattern is too complex for %zu line%s, the first "
                 "at %s; ",
                 g->complex, g->complex == 1 ? "" : "s", buf_cstr(&g->complex_at));
        buf_adds(&g->rows.notes, g->complex < GREP_COMPLEX_MAX
                                     ? "it is not known whether they match."
                                     : "the search ended there.");
        buf_adds(&g->rows.notes, " Write it with fewer nested repetitions.]");
    }
    return ok;
}

static enum pi_status report(struct tool_result *result, struct search *s,
                             const struct tool_call *call)
{
    struct grep *g = &s->file.grep;
    bool named = !S_ISDIR(call->plan.target.mode);
    if (g->matches == 0 && g->complex > 0) {
        return error_set(s->err, PI_LIMIT,
                         "the pattern is too complex for %s, so the search is not "
                         "complete; write it with fewer nested repetitions",
                         buf_cstr(&g->complex_at));
    }
    if (named && s->file.type.binary) {
        say_binary(s, call);
    } else {
        if (g->matches == 0) {
            say_nothing(s, call);
        }
        note_skipped(s, g->matches == 0);
    }
    if (!note_limits(s)) {
        return error_nomem(s->err);
    }
    return rows_result(result, &g->rows, s->err);
}

/* ------------------------------------------------------------------------ the tool -- */

static enum pi_status read_arguments(struct search *s, const struct tool_call *call)
{
    const struct json *args = call->args;
    const char *pattern = json_get_str(args, "pattern");
    double context = json_get_num(args, "context", 0);
    unsigned flags = json_get_bool(args, "literal", false) ? REGEX_LITERAL : 0;
    flags |= json_get_bool(args, "ignoreCase", false) ? REGEX_IGNORE_CASE : 0;
    s->glob = sv_of(json_get_str(args, "glob"));
    if (s->glob.n > 1 && s->glob.p[0] == '!') {
        s->glob_excludes = true;
        s->glob = sv_from(s->glob, 1);
    }
    while (sv_starts(s->glob, sv_of("./"))) {
        s->glob = sv_from(s->glob, 2);
    }
    s->file.grep.cancel = call->cancel;
    s->file.grep.context = !(context >= 1)         ? 0
                           : context < CONTEXT_MAX ? (size_t)context
                                                   : CONTEXT_MAX;
    enum pi_status st = rows_limit(&s->file.grep.limit, args, MATCHES, s->err);
    return st == PI_OK ? grep_init(&s->file.grep, sv_of(pattern), flags, s->err) : st;
}

static enum pi_status execute(struct tool_result *result, struct tool_call *call,
                              struct pi_error *err)
{
    const struct host_target *t = &call->plan.target;
    struct search s = {.err = err};
    enum pi_status st = read_arguments(&s, call);
    if (st == PI_OK && t->exists && S_ISDIR(t->mode)) {
        st = search_tree(&s, call);
    } else if (st == PI_OK) {
        st = search_named(&s, call);
        if (st == PI_NOT_FOUND) {
            st = error_set(err, st, "%s: no such file or folder (looked for %s)",
                           t->shown, t->path);
        }
    }
    if (st == PI_OK) {
        st = report(result, &s, call);
    }
    grep_file_finish(&s.file);
    return st;
}

const struct pi_tool_definition tool_grep = {
    .name = "grep",
    .label = "Search",
    .description =
        "Searches the lines of files for a regular expression (PCRE), or with literal "
        "for a text as it stands. Rows are path:line: text, in the order of the paths. "
        "Hidden files are searched; binary files, what ignore rules leave out and .git "
        "are not. At most 100 matches or 50KB; long lines are cut around the match.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{"
        "\"pattern\":{\"type\":\"string\",\"description\":\"What to look for, within a "
        "line\"},"
        "\"path\":{\"type\":\"string\",\"description\":\"File or folder; the working "
        "directory when left out\"},"
        "\"glob\":{\"type\":\"string\",\"description\":\"Only files that match, for "
        "example *.ts or src/**/*.c; !*.min.js for all others\"},"
        "\"ignoreCase\":{\"type\":\"boolean\"},"
        "\"literal\":{\"type\":\"boolean\",\"description\":\"The pattern is plain "
        "text\"},"
        "\"context\":{\"type\":\"number\",\"description\":\"Lines to show around each "
        "match\"},"
        "\"limit\":{\"type\":\"number\",\"description\":\"How many matches to show\"},"
        "\"ignored\":{\"type\":\"boolean\",\"description\":\"Search also what ignore "
        "rules leave out\"}},"
        "\"required\":[\"pattern\"]}",
    .snippet = "search the text of files",
    .title = "grep {pattern} {path}",
    .source = TOOL_BUILTIN,
    .mode = TOOL_PARALLEL,
    .plan = target_plan_tree,
    .execute = execute,
};
