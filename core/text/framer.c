#include "text/framer.h"

#include <string.h>

// A long line's memory is given back once it was read, so that an idle program is small.
enum { KEEP_BYTES = 64 * 1024 };

static struct sv without_cr(struct sv line)
{
    bool cr = line.n > 0 && line.p[line.n - 1] == '\r';
    return sv_make(line.p, cr ? line.n - 1 : line.n);
}

static void drop_held(struct framer *f)
{
    f->given = false;
    if (f->held.cap > KEEP_BYTES) {
        buf_finish(&f->held);
    } else {
        buf_clear(&f->held);
    }
}

// The line is held + part. Without held bytes it is given straight from the piece.
static enum framer_result give(struct framer *f, struct sv part, struct sv *line)
{
    if (f->held.len == 0) {
        *line = without_cr(part);
        return FRAMER_LINE;
    }
    buf_addsv(&f->held, part);
    f->given = true;
    if (!buf_ok(&f->held)) {
        return FRAMER_NOMEM;
    }
    *line = without_cr(buf_sv(&f->held));
    return FRAMER_LINE;
}

static enum framer_result overflow(struct framer *f, bool ended)
{
    drop_held(f);
    f->skipping = !ended;
    return FRAMER_TOO_LONG;
}

enum framer_result framer_next(struct framer *f, struct sv *piece, struct sv *line)
{
    if (f->given) {
        drop_held(f);
    }
    while (piece->n > 0) {
        const char *lf = memchr(piece->p, '\n', piece->n);
        size_t n = lf ? (size_t)(lf - piece->p) : piece->n;
        struct sv part = sv_make(piece->p, n);
        *piece = sv_from(*piece, lf ? n + 1 : n);
        if (f->skipping) {
            f->skipping = !lf;
        } else if (n > f->max - f->held.len) {
            return overflow(f, lf != NULL);
        } else if (lf) {
            return give(f, part, line);
        } else {
            buf_addsv(&f->held, part);
            if (!buf_ok(&f->held)) {
                overflow(f, false);
                return FRAMER_NOMEM;
            }
        }
    }
    return FRAMER_MORE;
}

enum framer_result framer_end(struct framer *f, struct sv *line)
{
    if (f->given) {
        drop_held(f);
    }
    f->skipping = false;
    return f->held.len > 0 ? give(f, sv_make(NULL, 0), line) : FRAMER_MORE;
}

void framer_finish(struct framer *f)
{
    buf_finish(&f->held);
    f->given = false;
    f->skipping = false;
}
