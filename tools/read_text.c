#include "read_text.h"

#include <inttypes.h>
#include <string.h>

#include "sys/path.h"
#include "text/truncate.h"
#include "text/utf8.h"

#define BOM "\xEF\xBB\xBF"
#define REPLACEMENT "\xEF\xBF\xBD"

// The window as it is shown.
struct page {
    struct buf text;       // well-formed UTF-8 without NUL
    size_t replaced;       // sequences that had to be replaced
    struct truncation cut; // of text
    uint64_t next;         // the first line not shown
    bool more;             // there is one
};

static void add_quoted(struct buf *out, const char *path)
{
    buf_addc(out, '\'');
    for (const char *p = path; *p; p++) {
        if (*p == '\'') {
            buf_adds(out, "'\\''");
        } else {
            buf_addc(out, *p);
        }
    }
    buf_addc(out, '\'');
}

static void add_hint(struct buf *out, const struct read_text *t)
{
    for (const char *p = t->type.hint; *p; p++) {
        if (*p == '%') {
            add_quoted(out, t->target->path);
        } else {
            buf_addc(out, *p);
        }
    }
}

static size_t count_replacements(struct sv s)
{
    size_t n = 0;
    const char *hit;
    while (s.n > 0 && (hit = memmem(s.p, s.n, REPLACEMENT, 3)) != NULL) {
        n++;
        s = sv_from(s, (size_t)(hit - s.p) + 3);
    }
    return n;
}

// NUL is well-formed UTF-8, but ends strings and breaks terminals.
static void add_without_nul(struct buf *out, struct sv s)
{
    while (s.n > 0) {
        const char *nul = memchr(s.p, '\0', s.n);
        size_t n = nul ? (size_t)(nul - s.p) : s.n;
        utf8_repair(out, sv_make(s.p, n));
        if (nul) {
            buf_adds(out, REPLACEMENT);
        }
        s = sv_from(s, nul ? n + 1 : n);
    }
}

static void page_make(struct page *p, const struct read_text *t)
{
    const struct line_window *w = t->window;
    struct sv kept = buf_sv(&w->kept);
    if (w->first == 1 && sv_starts(kept, sv_of(BOM))) {
        kept = sv_from(kept, 3);
    }
    add_without_nul(&p->text, kept);
    p->replaced = count_replacements(buf_sv(&p->text)) - count_replacements(kept);
    // Replacing makes a text longer.
    p->cut = truncate_head(buf_sv(&p->text), TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES);
    p->next = w->first + p->cut.kept_lines;
    p->more = !w->at_end || w->lines >= p->next;
}

static void add_total(struct buf *out, const struct read_text *t)
{
    if (t->window->at_end) {
        buf_addf(out, " of %" PRIu64, t->window->lines);
    } else if (!t->origin.buffer) {
        buf_adds(out, " of a file of ");
        size_format(out, (unsigned long long)t->stamp.size);
    }
}

static void add_continue(struct buf *out, const struct read_text *t, uint64_t next)
{
    if (t->window->at_end && next > t->window->lines) {
        buf_adds(out, " It is the last line.]");
    } else {
        buf_addf(out, " Use offset=%" PRIu64 " to continue.]", next);
    }
}

// One line that is longer than all that may be shown at once.
static void add_long_line(struct buf *out, const struct read_text *t, uint64_t line,
                          uint64_t bytes)
{
    buf_addf(out, "Line %" PRIu64 " is ", line);
    size_format(out, bytes);
    buf_adds(out, ", over the limit of ");
    size_format(out, TRUNCATE_MAX_BYTES);
    buf_adds(out, " for one read; see its start with bash: ");
    if (t->type.encoding != TEXT_UTF8) {
        buf_adds(out, "iconv -f UTF-16 -t UTF-8 ");
        add_quoted(out, t->target->path);
        buf_addf(out, " | sed -n '%" PRIu64 "p'", line);
    } else {
        buf_addf(out, "sed -n '%" PRIu64 "p' ", line);
        add_quoted(out, t->target->path);
    }
    buf_addf(out, " | head -c %d.", TRUNCATE_MAX_BYTES);
}

static void add_left(struct buf *out, const struct read_text *t, uint64_t next)
{
    uint64_t left = t->window->lines - next + 1;
    if (!t->window->at_end) {
        buf_adds(out, "[More lines in file.");
    } else if (left == 1) {
        buf_adds(out, "[1 more line in file.");
    } else {
        buf_addf(out, "[%" PRIu64 " more lines in file.", left);
    }
}

// The notice about what was not shown.
static void add_cut(struct buf *out, const struct read_text *t, const struct page *p)
{
    const struct line_window *w = t->window;
    bool too_long =
        w->by_bytes && w->over_bytes >= TRUNCATE_MAX_BYTES && !p->cut.truncated;
    bool by_bytes = w->by_bytes || p->cut.truncated;
    if (p->cut.kept_lines == 0) {
        uint64_t bytes = too_long ? w->over_bytes : p->cut.total_bytes;
        buf_addc(out, '[');
        add_long_line(out, t, p->next, bytes);
        add_continue(out, t, p->next + 1);
        return;
    }
    if (t->limited && !by_bytes) {
        add_left(out, t, p->next);
        add_continue(out, t, p->next);
        return;
    }
    buf_addf(out, "[Showing lines %" PRIu64 "-%" PRIu64, w->first, p->next - 1);
    add_total(out, t);
    if (too_long) {
        buf_adds(out, ". ");
        add_long_line(out, t, p->next, w->over_bytes);
        add_continue(out, t, p->next + 1);
        return;
    }
    if (by_bytes) {
        buf_adds(out, " (");
        size_format(out, TRUNCATE_MAX_BYTES);
        buf_adds(out, " limit)");
    }
    buf_addc(out, '.');
    add_continue(out, t, p->next);
}

// Each note begins a line of its own; the first one leaves a blank line below the text.
static void begin_note(struct buf *out, bool *first)
{
    if (*first && out->len > 0) {
        buf_adds(out, out->data[out->len - 1] == '\n' ? "\n" : "\n\n");
    } else if (!*first) {
        buf_addc(out, '\n');
    }
    *first = false;
}

static void add_outline(struct buf *out, const struct read_text *t, bool *first)
{
    if (t->no_outline) {
        begin_note(out, first);
        buf_addf(out, "[There is no outline of this file: %s.]", t->no_outline);
    }
    if (t->outline.n == 0) {
        return;
    }
    begin_note(out, first);
    buf_addf(out, "[Outline of %" PRIu64 " lines:\n", t->window->lines);
    buf_addsv(out, t->outline);
    if (t->left_out > 0) {
        buf_addf(out, "%zu shorter ones inside of these are left out. ", t->left_out);
    }
    buf_adds(out, "Use offset and limit to read what you need.]");
}

static void add_notes(struct buf *out, const struct read_text *t, size_t replaced,
                      bool first)
{
    add_outline(out, t, &first);
    if (replaced > 0) {
        begin_note(out, &first);
        buf_addf(out,
                 "[Bytes that are not UTF-8 are shown as U+FFFD (%zu times); the file "
                 "may be in an "
                 "8-bit encoding such as Latin-1.]",
                 replaced);
    }
    if (t->type.name) {
        begin_note(out, &first);
        buf_addf(out,
                 "[The file is a %s; to see what is in it, use bash: ", t->type.name);
        add_hint(out, t);
        buf_addc(out, ']');
    }
    if (t->type.encoding != TEXT_UTF8) {
        begin_note(out, &first);
        buf_adds(out, "[The file is UTF-16; shown as UTF-8.]");
    }
    if (t->origin.unsaved) {
        begin_note(out, &first);
        buf_adds(out, "[unsaved changes in the editor]");
    }
    if (t->target->folded) {
        begin_note(out, &first);
        buf_addf(out, "[No file has exactly this name; this is %s]", t->target->path);
    }
    if (t->target->leftover) {
        begin_note(out, &first);
        buf_addf(
            out,
            "[An earlier change of this file was interrupted; it may be half written. "
            "Its content before that change is in %s]",
            t->target->leftover);
    }
}

static struct json *cut_json(const struct read_text *t, const struct page *p)
{
    const struct line_window *w = t->window;
    struct truncation cut = p->cut;
    cut.truncated = true;
    cut.by_bytes = cut.by_bytes || w->by_bytes;
    cut.first_line_exceeds_limit = p->cut.kept_lines == 0;
    cut.total_lines = (size_t)w->lines;
    cut.total_bytes = (size_t)w->bytes;
    if (!w->at_end && !t->origin.buffer) {
        cut.total_bytes = (size_t)t->stamp.size;
    }
    struct json *details = json_new_object();
    if (details &&
        !json_set(details, "truncation",
                  truncation_json(&cut, TRUNCATE_MAX_LINES, TRUNCATE_MAX_BYTES))) {
        json_destroy(details);
        details = NULL;
    }
    return details;
}

static enum pi_status behind_end(const struct read_text *t, struct pi_error *err)
{
    uint64_t lines = t->window->lines;
    if (lines == 0) {
        return error_set(err, PI_INVALID,
                         "offset %" PRIu64 " is past the end: %s is empty.",
                         t->window->first, t->target->shown);
    }
    return error_set(err, PI_INVALID,
                     "offset %" PRIu64 " is past the end: %s has %" PRIu64
                     " line%s. Use an offset from 1 to %" PRIu64 ".",
                     t->window->first, t->target->shown, lines, lines == 1 ? "" : "s",
                     lines);
}

enum pi_status read_text_write(struct buf *out, struct json **details,
                               const struct read_text *t, struct pi_error *err)
{
    const struct line_window *w = t->window;
    if (w->at_end && w->lines < w->first && w->first > 1) {
        return behind_end(t, err);
    }
    struct page p = {0};
    bool first = true;
    if (t->outline_only) {
        add_notes(out, t, 0, first);
        return buf_ok(out) ? PI_OK : error_nomem(err);
    }
    page_make(&p, t);
    if (p.text.len == 0 && !p.more) {
        buf_adds(out, "(empty file)");
    }
    buf_addsv(out, p.cut.kept);
    if (p.more) {
        begin_note(out, &first);
        add_cut(out, t, &p);
    }
    add_notes(out, t, p.replaced, first);

    bool cut = p.more && (!t->limited || w->by_bytes || p.cut.truncated);
    if (cut) {
        *details = cut_json(t, &p);
    }
    bool ok = buf_ok(out) && buf_ok(&p.text) && (!cut || *details);
    buf_finish(&p.text);
    return ok ? PI_OK : error_nomem(err);
}

bool read_text_is_cut(const struct read_text *t)
{
    const struct line_window *w = t->window;
    bool more = !w->at_end || w->lines >= w->first + w->kept_lines;
    return more && (!t->limited || w->by_bytes);
}

enum pi_status read_text_binary(struct buf *out, const struct read_text *t,
                                struct pi_error *err)
{
    buf_addf(out, "[%s is a binary file: %s", t->target->shown, t->type.name);
    if (!t->origin.buffer) {
        buf_adds(out, ", ");
        size_format(out, (unsigned long long)t->stamp.size);
    }
    buf_adds(out, ". It is not shown as text.");
    if (t->type.hint) {
        buf_adds(out, " To look inside, use bash: ");
        add_hint(out, t);
    }
    buf_addc(out, ']');
    return buf_ok(out) ? PI_OK : error_nomem(err);
}
