#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/framer.h"

// The first byte gives the size of the pieces, the second the longest line. However the
// input is cut, the same lines come out.

static void run(struct buf *out, struct sv input, size_t step, size_t max)
{
    struct framer f = {.max = max};
    struct sv line;
    while (input.n > 0) {
        struct sv piece = sv_make(input.p, input.n < step ? input.n : step);
        input = sv_from(input, piece.n);
        enum framer_result r;
        while ((r = framer_next(&f, &piece, &line)) != FRAMER_MORE) {
            if (r == FRAMER_LINE) {
                if (line.n > max) {
                    abort();
                }
                buf_addsv(out, line);
            }
            buf_addc(out, r == FRAMER_LINE ? '\n' : '!');
        }
    }
    if (framer_end(&f, &line) == FRAMER_LINE) {
        buf_addsv(out, line);
    }
    framer_finish(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct sv input = sv_make((const char *)data + 2, size - 2);
    struct buf whole = {0}, cut = {0};
    run(&whole, input, input.n + 1, data[1]);
    run(&cut, input, (size_t)data[0] + 1, data[1]);
    if (!sv_eq(buf_sv(&whole), buf_sv(&cut))) {
        abort();
    }
    buf_finish(&whole);
    buf_finish(&cut);
    return 0;
}
