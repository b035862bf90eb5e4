#include <stdint.h>
#include <stdlib.h>

#include "text/utf8.h"

// The first byte gives the size of the pieces. Repair, code points and streams must
// agree.

static void by_code_points(struct buf *out, struct sv s)
{
    while (s.n) {
        utf8_put(out, utf8_next(&s));
    }
}

static void by_pieces(struct buf *out, struct sv s, size_t step)
{
    struct utf8_stream u = {0};
    while (s.n) {
        struct sv piece = sv_make(s.p, s.n < step ? s.n : step);
        utf8_stream_feed(&u, out, piece);
        s = sv_from(s, piece.n);
    }
    utf8_stream_end(&u, out);
}

static void check_boundaries(struct sv s)
{
    for (size_t n = 0; n <= s.n; n++) {
        size_t low = utf8_floor(s, n);
        size_t high = utf8_ceil(s, n);
        if (low > n || high < n || high > s.n || (low == n) != (high == n) ||
            (low < n && utf8_sequence(sv_from(s, low)) != high - low)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct sv s = sv_make((const char *)data + 1, size - 1);
    struct buf repaired = {0}, points = {0}, pieces = {0};
    utf8_repair(&repaired, s);
    by_code_points(&points, s);
    by_pieces(&pieces, s, (size_t)data[0] + 1);
    if (!utf8_valid(buf_sv(&repaired)) || !sv_eq(buf_sv(&repaired), buf_sv(&points)) ||
        !sv_eq(buf_sv(&repaired), buf_sv(&pieces)) ||
        utf8_valid(s) != sv_eq(s, buf_sv(&repaired))) {
        abort();
    }
    if (utf8_width(s) > 2 * s.n) {
        abort();
    }
    check_boundaries(s);
    buf_finish(&repaired);
    buf_finish(&points);
    buf_finish(&pieces);
    return 0;
}
