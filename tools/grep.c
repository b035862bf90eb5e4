#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_type.h"
#include "grep_text.h"
#include "sys/path.h"
#include "target.h"
#include "text/glob.h"
#include "tools.h"
#include "utf16.h"

enum { MATCHES = 100, CONTEXT_MAX = 100, TEXT_SNIFF = 512 };

// A larger file is data; it would take memory from the editor around the agent.
enum { FILE_MAX = 256 * 1024 * 1024 };

struct search {
    struct grep grep;
    struct sv glob; // n = 0: every file
    bool glob_excludes;
    enum pi_status status; // of what ended the walk
    struct pi_error *err;
    struct buf bytes; // of the current file
    struct buf utf8;  // the same when it was UTF-16
    size_t files, binary, large, unreadable, other_names;
    struct file_type type; // of the last file
    struct walk_report report;
};

/* -------------------------------------------------------------------------- files -- */

// Text shows itself in a few bytes when none of the first ones is NUL; this is done for
// every file of a tree.
static struct file_type type_of(struct sv bytes)
{
    struct sv start = sv_sub(bytes, 0, FILE_TYPE_SNIFF);
    bool nul = start.n > 0 && memchr(start.p, '\0', start.n);
    return file_type_of(nul ? start : sv_sub(start, 0, TEXT_SNIFF));
}

static enum pi_status search_bytes(struct search *s, struct sv name)
{
    struct sv bytes = buf_sv(&s->bytes);
    if (s->type.binary) {
        s->binary++;
        return PI_OK;
    }
    s->files++;
    if (s->type.encoding == TEXT_UTF8) {
        return grep_text(&s->grep, name, bytes, s->err);
    }
    struct utf16_stream utf16 = {.big_endian = s->type.encoding == TEXT_UTF16_BE};
    buf_clear(&s->utf8);
    utf16_feed(&utf16, &s->utf8, bytes);
    utf16_end(&utf16, &s->utf8);
    return buf_ok(&s->utf8) ? grep_text(&s->grep, name, buf_sv(&s->utf8), s->err)
                            : error_nomem(s->err);
}

// Reads on until the end or the cap. False for an error.
static bool read_more(struct search *s, int fd, size_t want)
{
    size_t got = 0;
    if (!buf_reserve(&s->bytes, want) ||
        file_read(fd, s->bytes.data + s->bytes.len, want, &got, NULL) != PI_OK) {
        return false;
    }
    s->bytes.len += got;
    s->bytes.data[s->bytes.len] = '\0';
    return true;
}

static bool load(struct search *s, int fd, const struct stat *st)
{
    buf_clear(&s->bytes);
    size_t start = FILE_TYPE_SNIFF;
    if (!read_more(s, fd, start)) {
        return false;
    }
    s->type = type_of(buf_sv(&s->bytes));
    if (s->bytes.len < start || s->type.binary || st->st_size <= FILE_TYPE_SNIFF) {
        return true;
    }
    return read_more(s, fd, (size_t)st->st_size - start);
}

static enum pi_status search_file(struct search *s, const struct walk_entry *entry)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(entry->folder, entry->name, flags);
    struct stat st;
    enum pi_status status = PI_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        s->unreadable += errno != ENOENT;
    } else if (!S_ISREG(st.st_mode)) {
        s->unreadable++;
    } else if (st.st_size > FILE_MAX) {
        s->large++;
    } else if (!load(s, fd, &st)) {
        status = buf_ok(&s->bytes) ? PI_OK : error_nomem(s->err);
        s->unreadable++;
    } else {
        status = search_bytes(s, sv_of(entry->path));
    }
    file_close(&fd);
    return status;
}

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
    s->status = search_file(s, entry);
    return s->status == PI_OK && !s->grep.more && s->grep.complex < GREP_COMPLEX_MAX;
}

static bool take(void *data, struct sv bytes)
{
    struct search *s = data;
    if (s->bytes.len > FILE_MAX) {
        return false;
    }
    buf_addsv(&s->bytes, bytes);
    return buf_ok(&s->bytes);
}

// A file that was named is read as the read tool reads it: also from an editor's buffer.
static enum pi_status search_named(struct search *s, struct tool_call *call)
{
    const struct host_target *t = &call->plan.target;
    struct host *host = call->context->host;
    struct host_origin origin = {0};
    struct file_stamp stamp;
    enum pi_status st =
        host->ops->read(host, t, 0, take, s, &origin, &stamp, call->cancel, s->err);
    if (st == PI_OK && !buf_ok(&s->bytes)) {
        st = error_nomem(s->err);
    }
    if (st == PI_OK && s->bytes.len > FILE_MAX) {
        st = error_set(s->err, PI_LIMIT,
                       "%s is too large for grep (over 256MB). Use grep in bash.",
                       t->shown);
    }
    s->type = type_of(buf_sv(&s->bytes));
    return st == PI_OK ? search_bytes(s, sv_of(path_base(t->path))) : st;
}

static enum pi_status search_tree(struct search *s, struct tool_call *call)
{
    struct walk_options options = {.root = call->plan.target.path,
                                   .rules = rows_places(call->context),
                                   .ignored = json_get_bool(call->args, "ignored", false),
                                   .cancel = call->cancel};
    enum pi_status st = walk_tree(&options, visit, s, &s->report, s->err);
    return st == PI_OK ? s->status : st;
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
    add_part(&parts, nothing ? s->binary : 0, "binary file", "binary files");
    add_part(&parts, s->large, "file over 256MB", "files over 256MB");
    add_part(&parts, s->unreadable, "file that could not be read",
             "files that could not be read");
    if (parts.len > 0) {
        rows_begin_note(&s->grep.rows);
        buf_addf(&s->grep.rows.notes, "Not searched: %s.]", buf_cstr(&parts));
    }
    s->grep.rows.notes.failed = s->grep.rows.notes.failed || !buf_ok(&parts);
    buf_finish(&parts);
}

static void say_nothing(struct search *s, const struct tool_call *call)
{
    struct buf *out = &s->grep.rows.text;
    const char *pattern = json_get_str(call->args, "pattern");
    const char *shown = call->plan.target.shown;
    if (s->files == 0 && s->glob.n > 0) {
        buf_addf(out, "No matches: no file in %s matches the glob", shown);
    } else {
        buf_addf(out, "No matches in %s (%zu file%s searched)", shown, s->files,
                 s->files == 1 ? "" : "s");
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
    enum pi_status st = regex_search(s->grep.matcher, buf_sv(&s->bytes), 0, &match, NULL);
    buf_addf(&s->grep.rows.text, "%s is a binary file (%s). ", call->plan.target.shown,
             s->type.name);
    if (st == PI_OK) {
        buf_addf(&s->grep.rows.text,
                 "It has a match at byte %zu; to see it, use "
                 "grep -a in bash.\n",
                 match.start);
    } else if (st == PI_NOT_FOUND) {
        buf_adds(&s->grep.rows.text, "No matches in its bytes.\n");
    } else {
        buf_adds(&s->grep.rows.text, "The pattern is too complex for its bytes.\n");
    }
}

static bool note_limits(struct search *s)
{
    struct grep *g = &s->grep;
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
    struct grep *g = &s->grep;
    bool named = !S_ISDIR(call->plan.target.mode);
    if (g->matches == 0 && g->complex > 0) {
        return error_set(s->err, PI_LIMIT,
                         "the pattern is too complex for %s, so the search is not "
                         "complete; write it with fewer nested repetitions",
                         buf_cstr(&g->complex_at));
    }
    if (named && s->type.binary) {
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
    s->grep.cancel = call->cancel;
    s->grep.context = !(context >= 1)         ? 0
                      : context < CONTEXT_MAX ? (size_t)context
                                              : CONTEXT_MAX;
    enum pi_status st = rows_limit(&s->grep.limit, args, MATCHES, s->err);
    return st == PI_OK ? grep_init(&s->grep, sv_of(pattern), flags, s->err) : st;
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
    grep_finish(&s.grep);
    buf_finish(&s.bytes);
    buf_finish(&s.utf8);
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
