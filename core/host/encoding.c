#include "host/encoding.h"

#include <stdint.h>
#include <stdlib.h>

#include "text/utf8.h"

static const char utf8_mark[] = "\xEF\xBB\xBF";

/* -------------------------------------------------------------------------- UTF-16 -- */

enum host_encoding encoding_of(struct sv bytes)
{
    if (sv_starts(bytes, sv_make("\xFF\xFE\0\0", 4))) {
        return HOST_BYTES; // UTF-32
    }
    if (sv_starts(bytes, sv_of("\xFF\xFE"))) {
        return HOST_UTF16_LE;
    }
    return sv_starts(bytes, sv_of("\xFE\xFF")) ? HOST_UTF16_BE : HOST_BYTES;
}

static uint32_t unit_at(enum host_encoding encoding, struct sv bytes, size_t at)
{
    uint32_t a = (unsigned char)bytes.p[at], b = (unsigned char)bytes.p[at + 1];
    return encoding == HOST_UTF16_LE ? a | b << 8 : a << 8 | b;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

enum pi_status encoding_decode(struct buf *out, enum host_encoding encoding,
                               struct sv bytes, struct pi_error *err)
{
    bool ok = bytes.n % 2 == 0;
    for (size_t at = 0; ok && at < bytes.n; at += 2) {
        uint32_t code = unit_at(encoding, bytes, at);
        if (is_high(code)) {
            uint32_t low = at + 3 < bytes.n ? unit_at(encoding, bytes, at + 2) : 0;
            ok = is_low(low);
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 2;
        } else {
            ok = !is_low(code);
        }
        if (ok) {
            utf8_put(out, code);
        }
    }
    if (!ok) {
        return error_set(err, PI_UNSUPPORTED,
                         "the file starts with a UTF-16 byte order mark but is not "
                         "well-formed UTF-16, so it cannot be changed as text");
    }
    return buf_ok(out) ? PI_OK : error_nomem(err);
}

static void put_unit(struct buf *out, enum host_encoding encoding, uint32_t unit)
{
    char low = (char)(unit & 0xFF), high = (char)(unit >> 8);
    buf_addc(out, encoding == HOST_UTF16_LE ? low : high);
    buf_addc(out, encoding == HOST_UTF16_LE ? high : low);
}

void encoding_encode(struct buf *out, enum host_encoding encoding, struct sv text)
{
    while (text.n > 0) {
        uint32_t code = utf8_next(&text);
        if (code >= 0x10000) {
            put_unit(out, encoding, 0xD800 + ((code - 0x10000) >> 10));
            put_unit(out, encoding, 0xDC00 + ((code - 0x10000) & 0x3FF));
        } else {
            put_unit(out, encoding, code);
        }
    }
}

/* -------------------------------------------------------------------------- checks -- */

static bool is_boundary(struct sv text, size_t at)
{
    return utf8_floor(text, at) == at;
}

enum pi_status encoding_check(struct sv text, const struct host_change *changes,
                              size_t len, struct pi_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        const struct host_change *c = &changes[i];
        if (c->offset < at || c->offset > text.n || c->length > text.n - c->offset) {
            return error_set(err, PI_INVALID, "changes overlap or lie outside the text");
        }
        at = c->offset + c->length;
        if (!is_boundary(text, c->offset) || !is_boundary(text, at)) {
            return error_set(err, PI_INVALID,
                             "a change begins or ends inside a character");
        }
    }
    return PI_OK;
}

static bool is_ascii(struct sv text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

// How much in a text looks like UTF-8 and how much like some other encoding.
struct tally {
    size_t sequences; // of two bytes and more
    size_t strays;    // bytes that belong to no sequence
};

static void count_bytes(struct tally *t, struct sv text)
{
    while (text.n > 0) {
        if ((unsigned char)text.p[0] < 0x80) {
            text = sv_from(text, 1);
            continue;
        }
        size_t n = utf8_sequence(text);
        if (n > 0) {
            t->sequences++;
        } else {
            t->strays++;
        }
        text = sv_from(text, n > 0 ? n : 1);
    }
}

// Whether what stays of the text is in an 8-bit encoding other than UTF-8. A few stray
// bytes in a file that is UTF-8 otherwise do not count.
static bool stays_eight_bit(struct sv text, const struct host_change *changes, size_t len)
{
    struct tally t = {0};
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        count_bytes(&t, sv_sub(text, at, changes[i].offset - at));
        at = changes[i].offset + changes[i].length;
    }
    count_bytes(&t, sv_from(text, at));
    return t.strays > t.sequences;
}

static bool contains(struct sv text, struct sv part)
{
    return part.n == 0 || (text.n >= part.n && memmem(text.p, text.n, part.p, part.n));
}

// Whether text has a character beyond ASCII that was not in the part it replaces.
static bool adds_characters(struct sv text, struct sv replaced)
{
    while (text.n > 0) {
        size_t n = 1;
        if ((unsigned char)text.p[0] >= 0x80) {
            size_t sequence = utf8_sequence(text);
            n = sequence > 0 ? sequence : 1;
            if (sequence > 0 && !contains(replaced, sv_make(text.p, n))) {
                return true;
            }
        }
        text = sv_from(text, n);
    }
    return false;
}

static enum pi_status check_eight_bit(struct sv text, const struct host_change *changes,
                                      size_t len, struct pi_error *err)
{
    bool adds = false;
    for (size_t i = 0; i < len && !adds; i++) {
        const struct host_change *c = &changes[i];
        adds = !is_ascii(c->text) &&
               adds_characters(c->text, sv_sub(text, c->offset, c->length));
    }
    if (adds && stays_eight_bit(text, changes, len)) {
        return error_set(err, PI_INVALID,
                         "the file is in an 8-bit encoding (such as ISO-8859-1), not in "
                         "UTF-8, and the new text has characters beyond ASCII that would "
                         "be mixed in as UTF-8. Use ASCII only, or convert the file "
                         "with iconv first");
    }
    return PI_OK;
}

/* ------------------------------------------------------------------------- mapping -- */

// The mark stays at the front: nothing is put before it, and it is not taken away.
static struct host_change keep_mark(struct host_change c)
{
    size_t mark = strlen(utf8_mark);
    if (c.offset >= mark) {
        return c;
    }
    if (sv_starts(c.text, sv_of(utf8_mark))) {
        c.text = sv_from(c.text, mark);
    }
    c.length -= c.length < mark ? c.length : mark;
    c.offset = mark;
    return c;
}

static size_t encoded_length(struct sv text)
{
    size_t n = 0;
    while (text.n > 0) {
        n += utf8_next(&text) >= 0x10000 ? 4 : 2;
    }
    return n;
}

static enum pi_status map_changes(struct encoded *e, const struct host_snapshot *snapshot,
                                  const struct host_change *changes, size_t len)
{
    struct sv text = buf_sv(&snapshot->text);
    size_t at = 0, mapped = 0;
    for (size_t i = 0; i < len; i++) {
        struct host_change c = keep_mark(changes[i]);
        mapped += encoded_length(sv_sub(text, at, c.offset - at));
        size_t length = encoded_length(sv_sub(text, c.offset, c.length));
        size_t before = e->texts.len;
        encoding_encode(&e->texts, snapshot->encoding, c.text);
        e->own[i] = (struct host_change){
            .offset = mapped, .length = length, .text = {.n = e->texts.len - before}};
        mapped += length;
        at = c.offset + c.length;
    }
    return buf_ok(&e->texts) ? PI_OK : PI_NOMEM;
}

static enum pi_status encode_changes(struct encoded *e,
                                     const struct host_snapshot *snapshot,
                                     const struct host_change *changes, size_t len,
                                     struct pi_error *err)
{
    for (size_t i = 0; i < len; i++) {
        if (!utf8_valid(changes[i].text)) {
            return error_set(err, PI_INVALID, "the new text is not valid UTF-8");
        }
    }
    e->own = calloc(len ? len : 1, sizeof *e->own);
    encoding_encode(&e->memory, snapshot->encoding, buf_sv(&snapshot->text));
    if (!e->own || !buf_ok(&e->memory) ||
        map_changes(e, snapshot, changes, len) != PI_OK) {
        return error_nomem(err);
    }
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        e->own[i].text.p = buf_cstr(&e->texts) + at;
        at += e->own[i].text.n;
    }
    e->old = buf_sv(&e->memory);
    e->changes = e->own;
    e->len = len;
    return PI_OK;
}

enum pi_status encoded_init(struct encoded *e, const struct host_snapshot *snapshot,
                            const struct host_change *changes, size_t len,
                            struct pi_error *err)
{
    *e = (struct encoded){0};
    struct sv text = buf_sv(&snapshot->text);
    enum pi_status status = encoding_check(text, changes, len, err);
    if (status != PI_OK) {
        return status;
    }
    if (snapshot->encoding != HOST_BYTES) {
        status = encode_changes(e, snapshot, changes, len, err);
    } else {
        status = check_eight_bit(text, changes, len, err);
        e->old = text;
        e->changes = changes;
        e->len = len;
    }
    if (status != PI_OK) {
        encoded_finish(e);
    }
    return status;
}

void encoded_finish(struct encoded *e)
{
    if (!e) {
        return;
    }
    buf_finish(&e->memory);
    buf_finish(&e->texts);
    free(e->own);
    *e = (struct encoded){0};
}
