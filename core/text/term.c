#include "text/term.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8_scan.h"

enum {
    GROUND,
    ESCAPE,              // after ESC
    ESCAPE_INTERMEDIATE, // ESC and 0x20 to 0x2F, until the final byte
    CSI,
    STRING, // OSC, DCS, SOS, PM, APC: until ST or BEL
};

enum {
    BELL = 0x07,
    BACKSPACE = 0x08,
    CANCEL = 0x18,
    SUBSTITUTE = 0x1a,
    ESC = 0x1b,
    DELETE = 0x7f,
    // How much of an overlong line stays open when the rest is passed on.
    LINE_KEEP = TERM_LINE_MAX / 2,
};

/* Finding plain text fast: most output is nothing else. */

static bool plain_byte(unsigned char c)
{
    return (c >= 0x20 && c < DELETE) || c == '\n' || c == '\t';
}

// True when one of eight bytes is not plain ASCII. Each addition sets the top bit of the
// bytes that pass a comparison; without top bits in the operand nothing is carried over.
static bool odd_byte_among(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t top = w & ones * 0x80;
    uint64_t low = w & ones * 0x7f;
    uint64_t printable = low + ones * (0x80 - 0x20);
    uint64_t not_lf = (low ^ ones * '\n') + ones * 0x7f;
    uint64_t not_tab = (low ^ ones * '\t') + ones * 0x7f;
    uint64_t not_delete = (low ^ ones * DELETE) + ones * 0x7f;
    uint64_t odd = top | (~printable & not_lf & not_tab) | ~not_delete;
    return (odd & ones * 0x80) != 0;
}

static size_t plain_ascii(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (n - i >= 8) {
        uint64_t w;
        memcpy(&w, p + i, sizeof w);
        if (odd_byte_among(w)) {
            break;
        }
        i += 8;
    }
    while (i < n && plain_byte(p[i])) {
        i++;
    }
    return i;
}

// U+0080 to U+009F, the control characters beyond ASCII.
static bool is_c1(const unsigned char *p)
{
    return p[0] == 0xc2 && p[1] < 0xa0;
}

// The length of the start of s that needs no thought: no control characters but TAB and
// LF, valid UTF-8.
static size_t plain_run(struct sv s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = plain_ascii(p, s.n);
    while (i < s.n && p[i] >= 0x80) {
        size_t len = utf8_scan_wide(p + i, s.n - i);
        if (len == 0 || is_c1(p + i)) {
            break;
        }
        i += len;
        if (i < s.n && p[i] < 0x80) {
            i += plain_ascii(p + i, s.n - i);
        }
    }
    return i;
}

/* The open line */

static void pass_on(struct term *t, struct buf *out, size_t n)
{
    size_t k = utf8_floor(buf_sv(&t->line), n);
    buf_add(out, t->line.data, k);
    buf_drop(&t->line, k);
    t->column = t->column > k ? t->column - k : 0;
}

// Appends to the line; the cursor must be at its end.
static void append(struct term *t, struct buf *out, struct sv text)
{
    if (t->line.len + text.n > TERM_LINE_MAX) {
        if (text.n > LINE_KEEP) {
            pass_on(t, out, t->line.len);
            size_t k = utf8_floor(text, text.n - LINE_KEEP);
            buf_add(out, text.p, k);
            text = sv_from(text, k);
        } else {
            pass_on(t, out, t->line.len + text.n - LINE_KEEP);
        }
    }
    buf_addsv(&t->line, text);
    t->column = t->line.len;
}

static size_t next_character(struct sv s, size_t at)
{
    return at < s.n ? utf8_ceil(s, at + 1) : at;
}

// Replaces the next `old` bytes of the line at the cursor by text.
static void replace(struct term *t, size_t old, struct sv text)
{
    struct buf *line = &t->line;
    size_t tail = line->len - t->column - old;
    if (text.n > old && !buf_reserve(line, text.n - old)) {
        return;
    }
    char *at = line->data + t->column;
    memmove(at + text.n, at + old, tail + 1);
    memcpy(at, text.p, text.n);
    line->len = line->len - old + text.n;
    t->column += text.n;
}

// Writes text without LF at the cursor: one character replaces one character.
static void write_text(struct term *t, struct buf *out, struct sv text)
{
    struct sv line = buf_sv(&t->line);
    size_t end = t->column; // of what is replaced
    size_t used = 0;
    while (used < text.n && end < line.n) {
        end = next_character(line, end);
        used = next_character(text, used);
    }
    if (used) {
        replace(t, end - t->column, sv_make(text.p, used));
    }
    if (used < text.n) {
        append(t, out, sv_from(text, used));
    }
    if (t->line.len > TERM_LINE_MAX) {
        pass_on(t, out, t->line.len - LINE_KEEP);
    }
}

static void end_line(struct term *t, struct buf *out)
{
    buf_addsv(out, buf_sv(&t->line));
    buf_addc(out, '\n');
    buf_truncate(&t->line, 0);
    t->column = 0;
}

static void put_plain(struct term *t, struct buf *out, struct sv run)
{
    while (run.n) {
        // Nothing is open: all finished lines go out in one copy.
        if (t->line.len == 0) {
            const char *last = memrchr(run.p, '\n', run.n);
            size_t k = last ? (size_t)(last - run.p) + 1 : 0;
            buf_add(out, run.p, k);
            append(t, out, sv_from(run, k));
            return;
        }
        const char *lf = memchr(run.p, '\n', run.n);
        size_t n = lf ? (size_t)(lf - run.p) : run.n;
        write_text(t, out, sv_make(run.p, n));
        if (lf) {
            end_line(t, out);
            n++;
        }
        run = sv_from(run, n);
    }
}

/* Control characters and sequences */

static void step_back(struct term *t)
{
    if (t->column > 0) {
        t->column = utf8_floor(buf_sv(&t->line), t->column - 1);
    }
}

static void go_to_column(struct term *t, unsigned column)
{
    struct sv line = buf_sv(&t->line);
    t->column = 0;
    for (unsigned i = 1; i < column && t->column < line.n; i++) {
        t->column = next_character(line, t->column);
    }
}

// Blanks from the start of the line up to and with the character at the cursor.
static void erase_to_cursor(struct term *t)
{
    struct sv line = buf_sv(&t->line);
    size_t end = next_character(line, t->column);
    size_t blanks = 0, blanks_before = 0;
    for (size_t at = 0; at < end; at = next_character(line, at)) {
        blanks_before += at < t->column;
        blanks++;
    }
    if (end > 0) {
        buf_drop(&t->line, end - blanks);
        memset(t->line.data, ' ', blanks);
        t->column = blanks_before;
    }
}

// A terminal leaves the cursor where it was when it erases the whole line; here it goes
// to the start, so that no indentation comes to be.
static void erase(struct term *t, unsigned mode)
{
    if (mode == 0) {
        buf_truncate(&t->line, t->column);
    } else if (mode == 1) {
        erase_to_cursor(t);
    } else if (mode == 2) {
        buf_truncate(&t->line, 0);
        t->column = 0;
    }
}

static void run_csi(struct term *t, unsigned char final)
{
    if (!t->csi_plain) {
        return;
    }
    if (final == 'K' || (final == 'J' && t->csi_number == 0)) {
        erase(t, t->csi_number);
    } else if (final == 'G') {
        go_to_column(t, t->csi_number);
    }
}

static void start(struct term *t, unsigned char state)
{
    t->state = state;
    t->sequence_len = 0;
    t->csi_plain = true;
    t->csi_number = 0;
}

static void control(struct term *t, unsigned char c)
{
    switch (c) {
    case '\r':
        t->column = 0;
        break;
    case BACKSPACE:
        step_back(t);
        break;
    case ESC:
        start(t, ESCAPE);
        break;
    default:
        break;
    }
}

static void step_escape(struct term *t, unsigned char c)
{
    if (c >= 0x20 && c <= 0x2f) {
        t->state = ESCAPE_INTERMEDIATE;
    } else if (t->state == ESCAPE && c == '[') {
        start(t, CSI);
    } else if (t->state == ESCAPE && strchr("]PX^_", c)) {
        start(t, STRING);
    } else {
        t->state = GROUND;
    }
}

static void step_csi(struct term *t, unsigned char c)
{
    if (c >= 0x40) {
        t->state = GROUND;
        run_csi(t, c);
    } else if (c >= '0' && c <= '9' && t->csi_number < 100000) {
        t->csi_number = t->csi_number * 10 + (c - '0');
    } else {
        t->csi_plain = false;
    }
}

// True when a sequence is open no more after c, with which something else begins.
static bool gives_up(struct term *t, unsigned char c)
{
    bool text = c >= 0x80 && t->state != STRING;
    if (c == '\n' || c == ESC || text || ++t->sequence_len > TERM_SEQUENCE_MAX) {
        t->state = GROUND;
        return true;
    }
    return false;
}

// Takes bytes of an open sequence; returns how many.
static size_t step_sequence(struct term *t, struct sv s)
{
    size_t i = 0;
    while (i < s.n && t->state != GROUND) {
        unsigned char c = (unsigned char)s.p[i];
        if (gives_up(t, c)) {
            break;
        }
        i++;
        if (c == CANCEL || c == SUBSTITUTE || (c == BELL && t->state == STRING)) {
            t->state = GROUND;
        } else if (c < 0x20 || c == DELETE || t->state == STRING) {
            continue;
        } else if (t->state == CSI) {
            step_csi(t, c);
        } else {
            step_escape(t, c);
        }
    }
    return i;
}

// Handles what plain_run stopped at; returns its length, 0 for a cut character.
static size_t step_odd(struct term *t, struct buf *out, struct sv s)
{
    unsigned char c = (unsigned char)s.p[0];
    if (c < 0x80) {
        control(t, c);
        return 1;
    }
    enum utf8_kind kind;
    size_t n = utf8_scan_one(s, &kind);
    if (kind == UTF8_CUT) {
        return 0;
    }
    if (kind == UTF8_BAD) {
        put_plain(t, out, sv_of("\xef\xbf\xbd"));
    }
    return n;
}

// Returns the rest: the beginning of a character that is not there yet.
static struct sv feed(struct term *t, struct buf *out, struct sv s)
{
    while (s.n) {
        if (t->state != GROUND) {
            s = sv_from(s, step_sequence(t, s));
            continue;
        }
        size_t run = plain_run(s);
        put_plain(t, out, sv_make(s.p, run));
        s = sv_from(s, run);
        if (s.n) {
            size_t n = step_odd(t, out, s);
            if (n == 0) {
                break;
            }
            s = sv_from(s, n);
        }
    }
    return s;
}

void term_feed(struct term *t, struct buf *out, struct sv piece)
{
    // A character that the last piece left open is completed byte by byte.
    while (t->utf8.held_len && piece.n) {
        buf_clear(&t->scratch);
        utf8_stream_feed(&t->utf8, &t->scratch, sv_make(piece.p, 1));
        feed(t, out, buf_sv(&t->scratch));
        piece = sv_from(piece, 1);
    }
    utf8_stream_feed(&t->utf8, &t->scratch, feed(t, out, piece));
    if (!buf_ok(&t->line) || !buf_ok(&t->scratch)) {
        out->failed = true;
    }
}

void term_peek(const struct term *t, struct buf *out)
{
    buf_addsv(out, buf_sv(&t->line));
}

void term_end(struct term *t, struct buf *out)
{
    buf_clear(&t->scratch);
    utf8_stream_end(&t->utf8, &t->scratch);
    feed(t, out, buf_sv(&t->scratch));
    buf_addsv(out, buf_sv(&t->line));
    if (!buf_ok(&t->line) || !buf_ok(&t->scratch)) {
        out->failed = true;
    }
    buf_clear(&t->line);
    t->column = 0;
    t->state = GROUND;
}

void term_finish(struct term *t)
{
    if (t) {
        buf_finish(&t->line);
        buf_finish(&t->scratch);
        *t = (struct term){0};
    }
}
