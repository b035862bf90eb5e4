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
