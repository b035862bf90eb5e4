#include "line_window.h"

#include <string.h>

// The length of the line at the start of piece with its LF; *whole tells whether the LF
// is there.
static size_t line_length(struct sv piece, bool *whole)
{
    const char *lf = memchr(piece.p, '\n', piece.n);
    *whole = lf != NULL;
    return lf ? (size_t)(lf - piece.p) + 1 : piece.n;
}

// All bytes pass through here once, so that lines and bytes are counted in one place.
static struct sv take(struct line_window *w, struct sv *piece)
{
    bool whole = false;
    struct sv line = sv_make(piece->p, line_length(*piece, &whole));
    *piece = sv_from(*piece, line.n);
    w->lines += !w->line_open;
    w->line_open = !whole;
    w->bytes += line.n;
    return line;
}

// Blocks of a fixed size are what compilers turn into vector instructions.
static uint64_t count_line_ends(struct sv s)
{
    enum { BLOCK = 64 };
    uint64_t n = 0;
    size_t i = 0;
    for (; s.n - i >= BLOCK; i += BLOCK) {
        unsigned char in_block = 0;
        for (size_t j = 0; j < BLOCK; j++) {
            in_block = (unsigned char)(in_block + (s.p[i + j] == '\n'));
        }
        n += in_block;
    }
    for (; i < s.n; i++) {
        n += s.p[i] == '\n';
    }
    return n;
}

// Whether the whole piece lies before the window; then it is counted and done with.
static bool skip(struct line_window *w, struct sv piece)
{
    uint64_t ends = count_line_ends(piece);
    if (w->lines + !w->line_open + ends >= w->first) {
        return false;
    }
    bool open = piece.p[piece.n - 1] != '\n';
    w->lines += ends + open - w->line_open;
    w->line_open = open;
    w->bytes += piece.n;
    return true;
}

static void keep(struct line_window *w, struct sv line)
{
    if (w->kept.len + line.n > w->max_bytes) {
        w->over_bytes = w->kept.len - w->line_start + line.n - !w->line_open;
        w->over_open = w->line_open;
        w->by_bytes = true;
        w->closed = true;
        buf_truncate(&w->kept, w->line_start);
        return;
    }
    buf_addsv(&w->kept, line);
    if (!w->line_open) {
        w->kept_lines++;
        w->line_start = w->kept.len;
        w->closed = w->kept_lines == w->max_lines;
    }
}

bool line_window_feed(struct line_window *w, struct sv piece)
{
    if (!w->closed && piece.n > 0 && skip(w, piece)) {
        return true;
    }
    while (piece.n > 0) {
        struct sv line = take(w, &piece);
        if (w->over_open) {
            // A line that does not fit is followed to its end: its size is worth knowing.
            w->over_bytes += line.n - !w->line_open;
            w->over_open = w->line_open;
        } else if (w->closed) {
            w->looked += line.n;
            if (w->looked > w->ahead) {
                return false;
            }
        } else if (w->lines >= w->first) {
            keep(w, line);
        }
    }
    return buf_ok(&w->kept);
}

void line_window_end(struct line_window *w)
{
    w->at_end = true;
    if (!w->closed && w->kept.len > w->line_start) {
        w->kept_lines++;
        w->line_start = w->kept.len;
    }
}

void line_window_finish(struct line_window *w)
{
    buf_finish(&w->kept);
}
