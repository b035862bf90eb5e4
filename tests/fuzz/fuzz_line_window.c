#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "line_window.h"
#include "utf16.h"

static void must(bool yes)
{
    if (!yes) {
        abort();
    }
}

// Feeds text in pieces; they get longer, so that all lengths come up.
static void feed(struct line_window *w, struct sv text, size_t step)
{
    bool more = true;
    while (more && text.n > 0) {
        size_t n = step < text.n ? step : text.n;
        more = line_window_feed(w, sv_make(text.p, n));
        text = sv_from(text, n);
        step++;
    }
    if (more) {
        line_window_end(w);
    }
}

static void check_window(const struct line_window *w)
{
    must(w->kept.len <= w->max_bytes);
    must(w->kept_lines <= w->max_lines);
    struct sv rest = buf_sv(&w->kept), line;
    uint64_t lines = 0;
    while (sv_next_line(&rest, &line)) {
        lines++;
    }
    must(lines == w->kept_lines);
}

// The bytes as UTF-16 give the same text in whatever pieces they come.
static void decode(struct buf *out, struct sv bytes, size_t step)
{
    struct utf16_stream u = {0};
    while (bytes.n > 0) {
        size_t n = step < bytes.n ? step : bytes.n;
        utf16_feed(&u, out, sv_make(bytes.p, n));
        bytes = sv_from(bytes, n);
    }
    utf16_end(&u, out);
}

// The first four bytes say what is asked for. How the text is cut into pieces must not
// matter.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 4) {
        return 0;
    }
    struct sv text = sv_make((const char *)bytes + 4, n - 4);
    struct line_window whole = {.first = 1 + bytes[0] % 16,
                                .max_lines = 1 + bytes[1] % 16,
                                .max_bytes = 1 + bytes[2],
                                .ahead = n};
    struct line_window pieces = whole;
    feed(&whole, text, text.n);
    feed(&pieces, text, 1 + bytes[3] % 8);
    check_window(&whole);
    must(sv_eq(buf_sv(&whole.kept), buf_sv(&pieces.kept)));
    must(whole.lines == pieces.lines && whole.bytes == pieces.bytes);
    must(whole.bytes == text.n && whole.at_end && pieces.at_end);
    must(whole.over_bytes == pieces.over_bytes && whole.by_bytes == pieces.by_bytes);
    line_window_finish(&whole);
    line_window_finish(&pieces);

    struct buf one = {0}, other = {0};
    decode(&one, text, text.n);
    decode(&other, text, 1 + bytes[3] % 3);
    must(sv_eq(buf_sv(&one), buf_sv(&other)));
    buf_finish(&one);
    buf_finish(&other);
    return 0;
}
