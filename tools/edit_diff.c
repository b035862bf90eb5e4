#include "edit_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "edit_match.h"
#include "text/diff.h"
#include "text/utf8.h"

enum {
    CONTEXT = 4,
    SHOWN_MAX = 1024 * 1024,
};

// The windows around the changes; `after` of each is built in one buffer.
struct windows {
    struct diff_window *items;
    size_t len, cap;
    struct buf after;
    size_t *after_at; // per window, where it starts in after
    size_t after_cap;
    struct edit_lines lines;
    size_t old_lines; // of the whole text
};

static void windows_finish(struct windows *w)
{
    free(w->items);
    free(w->after_at);
    buf_finish(&w->after);
}

static size_t count_lf(struct sv s)
{
    return edit_line_number(s, s.n) - 1;
}

static size_t lines_above(struct sv text, size_t at, size_t lines)
{
    const char *lf = at > 0 ? memrchr(text.p, '\n', at) : NULL;
    for (; lf && lines > 0; lines--) {
        lf = memrchr(text.p, '\n', (size_t)(lf - text.p));
    }
    return lf ? (size_t)(lf - text.p) + 1 : 0;
}

static size_t lines_below(struct sv text, size_t at, size_t lines)
{
    for (size_t i = 0; i <= lines && at < text.n; i++) {
        const char *lf = memchr(text.p + at, '\n', text.n - at);
        at = lf ? (size_t)(lf - text.p) + 1 : text.n;
    }
    return at;
}

static struct diff_window *add_window(struct windows *w)
{
    struct diff_window *items = vec_grow(w->items, &w->cap, w->len + 1, sizeof(*items));
    if (!items) {
        return NULL;
    }
    w->items = items;
    size_t *at = vec_grow(w->after_at, &w->after_cap, w->len + 1, sizeof(*at));
    if (!at) {
        return NULL;
    }
    w->after_at = at;
    w->after_at[w->len] = w->after.len;
    w->items[w->len] = (struct diff_window){0};
    return &w->items[w->len++];
}

// How many changes from `i` on share one window, and where it ends.
static size_t group(const struct edit_diff *d, size_t i, size_t *end)
{
    *end = lines_below(d->text, d->changes[i].offset + d->changes[i].length, CONTEXT);
    size_t k = i + 1;
    while (k < d->len && lines_above(d->text, d->changes[k].offset, CONTEXT) <= *end) {
        *end = lines_below(d->text, d->changes[k].offset + d->changes[k].length, CONTEXT);
        k++;
    }
    return k;
}

static void build_after(struct buf *out, const struct edit_diff *d, size_t i, size_t k,
                        size_t from, size_t to)
{
    for (; i < k; i++) {
        const struct host_change *c = &d->changes[i];
        buf_add(out, d->text.p + from, c->offset - from);
        buf_addsv(out, c->text);
        from = c->offset + c->length;
    }
    buf_add(out, d->text.p + from, to - from);
}

// The first and the last line of the new text that a comparison by lines shows.
static enum pi_status note_lines(struct windows *w, struct pi_error *err)
{
    const struct diff_window *last = &w->items[w->len - 1];
    struct diff head = {0};
    struct diff tail = {0};
    enum pi_status st = diff_lines(&head, w->items[0].before, w->items[0].after, err);
    if (st == PI_OK) {
        st = diff_lines(&tail, last->before, last->after, err);
    }
    if (st == PI_OK && head.len > 0 && tail.len > 0) {
        const struct diff_hunk *h = &tail.hunks[tail.len - 1];
        size_t end = last->new_first_line - 1 + h->new_start + h->new_len;
        w->lines.first = w->items[0].new_first_line - 1 + head.hunks[0].new_start;
        // Where lines are only gone, the one behind them stands for the place.
        w->lines.count = end > w->lines.first ? end - w->lines.first : 1;
    }
    diff_finish(&head);
    diff_finish(&tail);
    return st;
}

static bool windows_make(struct windows *w, const struct edit_diff *d)
{
    size_t at = 0; // lines are counted up to here
    size_t old_line = 1, new_line = 1;
    for (size_t i = 0; i < d->len;) {
        size_t to;
        size_t k = group(d, i, &to);
        size_t from = lines_above(d->text, d->changes[i].offset, CONTEXT);
        struct diff_window *window = add_window(w);
        if (!window) {
            return false;
        }
        size_t skipped = count_lf(sv_make(d->text.p + at, from - at));
        window->before = sv_make(d->text.p + from, to - from);
        window->old_first_line = old_line + skipped;
        window->new_first_line = new_line + skipped;
        size_t start = w->after.len;
        build_after(&w->after, d, i, k, from, to);
        old_line = window->old_first_line + count_lf(window->before);
        new_line = window->new_first_line + count_lf(sv_from(buf_sv(&w->after), start));
        at = to;
        i = k;
    }
    size_t rest = d->text.n - at;
    w->old_lines = old_line - 1 + count_lf(sv_make(d->text.p + at, rest));
    w->old_lines += d->text.n > 0 && d->text.p[d->text.n - 1] != '\n';
    for (size_t i = 0; i < w->len; i++) {
        size_t end = i + 1 < w->len ? w->after_at[i + 1] : w->after.len;
        w->items[i].after =
            sv_make(buf_cstr(&w->after) + w->after_at[i], end - w->after_at[i]);
    }
    return buf_ok(&w->after);
}

static bool is_text(struct sv s)
{
    return utf8_valid(s) && !(s.n > 0 && memchr(s.p, '\0', s.n));
}

// JSON holds UTF-8 only; a patch with other bytes in it would not fit the file.
static bool patch_fits(const struct windows *w, const struct edit_diff *d)
{
    for (size_t i = 0; i < w->len; i++) {
        if (!is_text(w->items[i].before)) {
            return false;
        }
    }
    return d->patch && is_text(buf_sv(&w->after));
}

static bool too_large(const struct windows *w)
{
    size_t n = w->after.len;
    for (size_t i = 0; i < w->len; i++) {
        n += w->items[i].before.n;
    }
    return n > SHOWN_MAX;
}

static enum pi_status add_texts(struct json *out, const struct windows *w,
                                const struct edit_diff *d, struct pi_error *err)
{
    struct buf diff = {0};
    struct buf patch = {0};
    enum pi_status st =
        diff_write_rows(&diff, w->items, w->len, CONTEXT, w->old_lines, err);
    if (st == PI_OK && patch_fits(w, d)) {
        st = diff_write_patch(&patch, d->path, w->items, w->len, CONTEXT, err);
    }
    if (st == PI_OK) {
        bool ok =
            buf_ok(&diff) && buf_ok(&patch) &&
            json_set(out, "diff", json_new_string(buf_sv(&diff))) &&
            (patch.len == 0 || json_set(out, "patch", json_new_string(buf_sv(&patch))));
        st = ok ? PI_OK : error_nomem(err);
    }
    buf_finish(&diff);
    buf_finish(&patch);
    return st;
}

enum pi_status edit_diff_make(struct json **details, struct edit_lines *lines,
                              const struct edit_diff *d, struct pi_error *err)
{
    struct windows w = {0};
    struct json *out = json_new_object();
    enum pi_status st = out && windows_make(&w, d) ? PI_OK : error_nomem(err);
    if (st == PI_OK) {
        st = note_lines(&w, err);
    }
    if (st == PI_OK && !too_large(&w)) {
        st = add_texts(out, &w, d, err);
    }
    if (st == PI_OK && !json_set_int(out, "firstChangedLine", (int64_t)w.lines.first)) {
        st = error_nomem(err);
    }
    *lines = w.lines;
    windows_finish(&w);
    if (st != PI_OK) {
        json_destroy(out);
        return st;
    }
    *details = out;
    return PI_OK;
}
