#include "text/diff.h"

#include <stdlib.h>

#include "base/vec.h"
#include "text/utf8.h"

// A window taken apart. Hunks and line numbers count from 1 inside the window.
struct view {
    const struct diff_window *window;
    struct diff diff;
    struct sv *old_lines, *new_lines; // with their LF
    size_t old_len, new_len;
};

// Hunks that are shown together with the context around them. Lines from 0, `to`
// excluded.
struct group {
    const struct view *view;
    size_t first_hunk, end_hunk;
    size_t old_from, old_to;
    size_t new_from, new_to;
};

// What the two formats make of it.
struct printer {
    void (*begin_group)(struct printer *p, const struct group *g);
    void (*line)(struct printer *p, char sign, size_t number, struct sv line);
    struct buf *out;
    const char *path; // patch: for the headers, NULL when they are written
    int digits;       // rows: width of the number
    size_t next;      // rows: the first line of the old file that was not shown yet
    size_t rows;      // rows: how many so far
};

/* Windows */

static bool split(struct sv text, struct sv **lines, size_t *len)
{
    size_t cap = 0;
    struct sv rest = text;
    struct sv line;
    while (sv_next_line(&rest, &line)) {
        struct sv *grown = vec_grow(*lines, &cap, *len + 1, sizeof *grown);
        if (!grown) {
            return false;
        }
        *lines = grown;
        (*lines)[(*len)++] = sv_make(line.p, (size_t)(rest.p - line.p));
    }
    return true;
}

static void view_finish(struct view *v)
{
    diff_finish(&v->diff);
    free(v->old_lines);
    free(v->new_lines);
}

static enum pi_status view_init(struct view *v, const struct diff_window *w,
                                struct pi_error *err)
{
    *v = (struct view){.window = w};
    enum pi_status status = diff_lines(&v->diff, w->before, w->after, err);
    if (status == PI_OK && !(split(w->before, &v->old_lines, &v->old_len) &&
                             split(w->after, &v->new_lines, &v->new_len))) {
        status = error_nomem(err);
    }
    if (status != PI_OK) {
        view_finish(v);
    }
    return status;
}

/* Groups */

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The group that starts with this hunk: hunks up to 2 * context lines apart.
static struct group group_at(const struct view *v, size_t first, size_t context)
{
    const struct diff_hunk *h = &v->diff.hunks[first];
    size_t lead = min_size(context, h->old_start - 1);
    struct group g = {.view = v,
                      .first_hunk = first,
                      .end_hunk = first + 1,
                      .old_from = h->old_start - 1 - lead,
                      .new_from = h->new_start - 1 - lead};
    size_t room = context > SIZE_MAX / 2 ? SIZE_MAX : 2 * context;
    while (g.end_hunk < v->diff.len &&
           h[1].old_start - h->old_start - h->old_len <= room) {
        g.end_hunk++;
        h++;
    }
    size_t old_end = h->old_start - 1 + h->old_len;
    size_t trail = min_size(context, v->old_len - old_end);
    g.old_to = old_end + trail;
    g.new_to = h->new_start - 1 + h->new_len + trail;
    return g;
}

static void print_old(struct printer *p, const struct group *g, char sign, size_t from,
                      size_t to)
{
    for (size_t i = from; i < to; i++) {
        p->line(p, sign, g->view->window->old_first_line + i, g->view->old_lines[i]);
    }
}

static void print_new(struct printer *p, const struct group *g, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        p->line(p, '+', g->view->window->new_first_line + i, g->view->new_lines[i]);
    }
}

static void print_group(struct printer *p, const struct group *g)
{
    size_t at = g->old_from;
    p->begin_group(p, g);
    for (size_t k = g->first_hunk; k < g->end_hunk; k++) {
        const struct diff_hunk *h = &g->view->diff.hunks[k];
        print_old(p, g, ' ', at, h->old_start - 1);
        at = h->old_start - 1 + h->old_len;
        print_old(p, g, '-', h->old_start - 1, at);
        print_new(p, g, h->new_start - 1, h->new_start - 1 + h->new_len);
    }
    print_old(p, g, ' ', at, g->old_to);
}

static enum pi_status print_windows(struct printer *p, const struct diff_window *windows,
                                    size_t len, size_t context, struct pi_error *err)
{
    for (size_t i = 0; i < len; i++) {
        struct view v;
        enum pi_status status = view_init(&v, &windows[i], err);
        if (status != PI_OK) {
            return status;
        }
        for (size_t k = 0; k < v.diff.len;) {
            struct group g = group_at(&v, k, context);
            print_group(p, &g);
            k = g.end_hunk;
        }
        view_finish(&v);
    }
    return buf_ok(p->out) ? PI_OK : error_nomem(err);
}

/* The patch */

static bool needs_quotes(struct sv path)
{
    if (sv_starts(path, sv_of(" ")) || sv_ends(path, sv_of(" "))) {
        return true; // patch(1) would take these blanks off
    }
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
            return true;
        }
    }
    return !utf8_valid(path);
}

static void add_quoted(struct buf *out, struct sv path)
{
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        if (c == '"' || c == '\\') {
            buf_addc(out, '\\');
            buf_addc(out, (char)c);
        } else if (c < 0x20 || c >= 0x7f) {
            buf_addf(out, "\\%03o", c);
        } else {
            buf_addc(out, (char)c);
        }
    }
}

static void add_header(struct buf *out, const char *mark, char side, struct sv path)
{
    const char *slash = sv_starts(path, sv_of("/")) ? "" : "/";
    if (needs_quotes(path)) {
        buf_addf(out, "%s \"%c%s", mark, side, slash);
        add_quoted(out, path);
        buf_adds(out, "\"\n");
        return;
    }
    buf_addf(out, "%s %c%s", mark, side, slash);
    buf_addsv(out, path);
    // Without the TAB patch(1) takes what follows a blank for the date of the file.
    buf_adds(out, memchr(path.p, ' ', path.n) ? "\t\n" : "\n");
}

// A side without lines is named by the line before it.
static void add_range(struct buf *out, char sign, size_t first, size_t len)
{
    buf_addf(out, "%c%zu,%zu", sign, len ? first : first - 1, len);
}

static void begin_patch_group(struct printer *p, const struct group *g)
{
    if (p->path) {
        add_header(p->out, "---", 'a', sv_of(p->path));
        add_header(p->out, "+++", 'b', sv_of(p->path));
        p->path = NULL;
    }
    const struct diff_window *w = g->view->window;
    buf_adds(p->out, "@@ ");
    add_range(p->out, '-', w->old_first_line + g->old_from, g->old_to - g->old_from);
    buf_addc(p->out, ' ');
    add_range(p->out, '+', w->new_first_line + g->new_from, g->new_to - g->new_from);
    buf_adds(p->out, " @@\n");
}

static void patch_line(struct printer *p, char sign, size_t number, struct sv line)
{
    (void)number;
    buf_addc(p->out, sign);
    buf_addsv(p->out, line);
    if (!sv_ends(line, sv_of("\n"))) {
        buf_adds(p->out, "\n\\ No newline at end of file\n");
    }
}

enum pi_status diff_write_patch(struct buf *out, const char *path,
                                const struct diff_window *windows, size_t len,
                                size_t context, struct pi_error *err)
{
    struct printer p = {
        .begin_group = begin_patch_group, .line = patch_line, .out = out, .path = path};
    return print_windows(&p, windows, len, context, err);
}

/* The rows */

static void begin_row(struct printer *p)
{
    if (p->rows++) {
        buf_addc(p->out, '\n');
    }
}

// A row for the lines of the old file between the last shown one and this one.
static void skip_to(struct printer *p, size_t old_line)
{
    if (old_line > p->next) {
        begin_row(p);
        buf_addf(p->out, " %*s ...", p->digits, "");
    }
}

static void begin_rows_group(struct printer *p, const struct group *g)
{
    size_t first = g->view->window->old_first_line;
    skip_to(p, first + g->old_from);
    p->next = first + g->old_to;
}

static void row(struct printer *p, char sign, size_t number, struct sv line)
{
    begin_row(p);
    if (sv_ends(line, sv_of("\n"))) {
        line.n -= sv_ends(line, sv_of("\r\n")) ? 2 : 1;
    }
    buf_addf(p->out, "%c%*zu ", sign, p->digits, number);
    buf_addsv(p->out, line);
}

static size_t count_lines(struct sv text)
{
    size_t n = 0;
    struct sv line;
    while (sv_next_line(&text, &line)) {
        n++;
    }
    return n;
}

static int width_of(size_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10) {
        digits++;
    }
    return digits;
}

enum pi_status diff_write_rows(struct buf *out, const struct diff_window *windows,
                               size_t len, size_t context, size_t last_old_line,
                               struct pi_error *err)
{
    struct printer p = {.begin_group = begin_rows_group, .line = row, .out = out};
    size_t last_new_line = last_old_line;
    if (len) {
        // Behind the last window both files are equal, only shifted.
        const struct diff_window *w = &windows[len - 1];
        last_new_line += w->new_first_line + count_lines(w->after);
        last_new_line -= w->old_first_line + count_lines(w->before);
    }
    p.digits = width_of(last_new_line > last_old_line ? last_new_line : last_old_line);
    p.next = 1;
    enum pi_status status = print_windows(&p, windows, len, context, err);
    if (status == PI_OK && p.rows) {
        skip_to(&p, last_old_line + 1);
        status = buf_ok(out) ? PI_OK : error_nomem(err);
    }
    return status;
}
