#include <stdint.h>
#include <stdlib.h>

#include "text/term.h"

// The first byte gives the size of the pieces. However the input is cut, the same plain
// text comes out.

static void run(struct buf *out, struct sv in, size_t step)
{
    struct term t = {0};
    while (in.n) {
        struct sv piece = sv_make(in.p, in.n < step ? in.n : step);
        term_feed(&t, out, piece);
        in = sv_from(in, piece.n);
        if (t.column > t.line.len || t.line.len > TERM_LINE_MAX) {
            abort();
        }
    }
    term_end(&t, out);
    term_finish(&t);
}

static void check_plain(struct sv s)
{
    if (!utf8_valid(s)) {
        abort();
    }
    while (s.n) {
        uint32_t c = utf8_next(&s);
        if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct sv in = sv_make((const char *)data + 1, size - 1);
    struct buf whole = {0}, cut = {0};
    run(&whole, in, in.n + 1);
    run(&cut, in, (size_t)data[0] % 64 + 1);
    check_plain(buf_sv(&whole));
    check_plain(buf_sv(&cut));
    // Of a line that is too long more stays open when it came in small pieces.
    if (in.n < TERM_LINE_MAX / 3 && !sv_eq(buf_sv(&whole), buf_sv(&cut))) {
        abort();
    }
    buf_finish(&whole);
    buf_finish(&cut);
    return 0;
}
