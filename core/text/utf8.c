#include "text/utf8.h"

#include <utf8proc.h>

#include "base/utf8_scan.h"

static const char replacement[] = "\xef\xbf\xbd"; // U+FFFD

size_t utf8_sequence(struct sv s)
{
    enum utf8_kind kind = UTF8_BAD;
    size_t n = s.n ? utf8_scan_one(s, &kind) : 0;
    return kind == UTF8_GOOD ? n : 0;
}

uint32_t utf8_next(struct sv *s)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    enum utf8_kind kind;
    size_t n = utf8_scan_one(*s, &kind);
    uint32_t code = 0xfffd;
    if (kind == UTF8_GOOD) {
        code = (unsigned char)s->p[0] & lead_bits[n];
        for (size_t i = 1; i < n; i++) {
            code = code << 6 | ((unsigned char)s->p[i] & 0x3f);
        }
    }
    *s = sv_from(*s, n);
    return code;
}

void utf8_put(struct buf *b, uint32_t code)
{
    if (code < 0x80) {
        buf_addc(b, (char)code);
        return;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        buf_adds(b, replacement);
        return;
    }
    char bytes[4];
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1;) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)((0xf00 >> n & 0xf0) | code);
    buf_add(b, bytes, n);
}

bool utf8_valid(struct sv s)
{
    return utf8_scan_run(s) == s.n;
}

// Appends s repaired; returns what stands at its end and may still be completed.
static struct sv repair(struct buf *b, struct sv s)
{
    while (s.n) {
        size_t run = utf8_scan_run(s);
        buf_add(b, s.p, run);
        s = sv_from(s, run);
        if (s.n) {
            enum utf8_kind kind;
            size_t bad = utf8_scan_one(s, &kind);
            if (kind == UTF8_CUT) {
                break;
            }
            buf_adds(b, replacement);
            s = sv_from(s, bad);
        }
    }
    return s;
}

void utf8_repair(struct buf *b, struct sv s)
{
    if (repair(b, s).n) {
        buf_adds(b, replacement);
    }
}

// Finds the valid sequence that has byte n inside (not as its first); false when there is
// none. n must be below s.n.
static bool around(struct sv s, size_t n, size_t *start, size_t *end)
{
    size_t k = n;
    while (k > 0 && n - k < 3 && ((unsigned char)s.p[k] & 0xc0) == 0x80) {
        k--;
    }
    *start = k;
    *end = k + utf8_sequence(sv_from(s, k));
    return k < n && n < *end;
}

size_t utf8_floor(struct sv s, size_t n)
{
    size_t start, end;
    if (n >= s.n) {
        return s.n;
    }
    return around(s, n, &start, &end) ? start : n;
}

size_t utf8_ceil(struct sv s, size_t n)
{
    size_t start, end;
    if (n >= s.n) {
        return s.n;
    }
    return around(s, n, &start, &end) ? end : n;
}

size_t utf8_width(struct sv s)
{
    size_t width = 0;
    while (s.n) {
        unsigned char c = (unsigned char)s.p[0];
        if (c < 0x80) {
            width += c >= 0x20 && c != 0x7f;
            s = sv_from(s, 1);
        } else {
            int columns = utf8proc_charwidth((utf8proc_int32_t)utf8_next(&s));
            width += columns > 0 ? (size_t)columns : 0;
        }
    }
    return width;
}

// Completes the held beginning with bytes of piece; returns the rest of piece.
static struct sv complete(struct utf8_stream *u, struct buf *out, struct sv piece)
{
    while (u->held_len && piece.n) {
        enum utf8_kind kind;
        u->held[u->held_len] = piece.p[0];
        utf8_scan_one(sv_make(u->held, u->held_len + 1u), &kind);
        if (kind == UTF8_BAD) {
            buf_adds(out, replacement);
            u->held_len = 0;
            break;
        }
        u->held_len++;
        if (kind == UTF8_GOOD) {
            buf_add(out, u->held, u->held_len);
            u->held_len = 0;
        }
        piece = sv_from(piece, 1);
    }
    return piece;
}

void utf8_stream_feed(struct utf8_stream *u, struct buf *out, struct sv piece)
{
    struct sv rest = repair(out, complete(u, out, piece));
    for (size_t i = 0; i < rest.n; i++) {
        u->held[u->held_len++] = rest.p[i];
    }
}

void utf8_stream_end(struct utf8_stream *u, struct buf *out)
{
    if (u->held_len) {
        buf_adds(out, replacement);
        u->held_len = 0;
    }
}
