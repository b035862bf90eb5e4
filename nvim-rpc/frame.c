#include "frame.h"

#include <stdbool.h>

enum kind { SCALAR, ARRAY, MAP, BAD };

// What follows the lead bytes 0xc0 to 0xdf: a length of so many bytes, then that many
// bytes (or values) and `extra` more bytes.
static const struct {
    unsigned char length_len;
    unsigned char extra;
    unsigned char kind;
} leads[32] = {
    {0, 0, SCALAR},  {0, 0, BAD},    {0, 0, SCALAR}, {0, 0, SCALAR}, // nil, -, booleans
    {1, 0, SCALAR},  {2, 0, SCALAR}, {4, 0, SCALAR},                 // bin
    {1, 1, SCALAR},  {2, 1, SCALAR}, {4, 1, SCALAR},                 // ext and its type
    {0, 4, SCALAR},  {0, 8, SCALAR},                                 // float
    {0, 1, SCALAR},  {0, 2, SCALAR}, {0, 4, SCALAR}, {0, 8, SCALAR}, // unsigned
    {0, 1, SCALAR},  {0, 2, SCALAR}, {0, 4, SCALAR}, {0, 8, SCALAR}, // signed
    {0, 2, SCALAR},  {0, 3, SCALAR}, {0, 5, SCALAR}, {0, 9, SCALAR}, // fixext
    {0, 17, SCALAR},                                                 // fixext 16
    {1, 0, SCALAR},  {2, 0, SCALAR}, {4, 0, SCALAR},                 // str
    {2, 0, ARRAY},   {4, 0, ARRAY},  {2, 0, MAP},    {4, 0, MAP},
};

// A value is complete; so may be the containers around it.
static bool close_value(struct frame *f)
{
    while (f->depth > 0) {
        if (--f->left[f->depth - 1] > 0) {
            return false;
        }
        f->depth--;
    }
    return true;
}

// Bytes that this message may still have.
static size_t room(const struct frame *f)
{
    return FRAME_BYTES_MAX - f->bytes;
}

static enum frame_result open_container(struct frame *f, uint64_t children)
{
    // Each child has at least one byte.
    if (f->depth == FRAME_DEPTH_MAX || children > room(f)) {
        return FRAME_BAD;
    }
    if (children == 0) {
        return close_value(f) ? FRAME_END : FRAME_MORE;
    }
    f->left[f->depth++] = (uint32_t)children;
    return FRAME_MORE;
}

static enum frame_result start_skip(struct frame *f, uint64_t bytes)
{
    if (bytes > room(f)) {
        return FRAME_BAD;
    }
    f->skip = (size_t)bytes;
    return bytes == 0 && close_value(f) ? FRAME_END : FRAME_MORE;
}

// A header with its length is complete.
static enum frame_result end_header(struct frame *f)
{
    switch (leads[f->lead - 0xc0].kind) {
    case ARRAY:
        return open_container(f, f->length);
    case MAP:
        return open_container(f, 2 * (uint64_t)f->length);
    case SCALAR:
        return start_skip(f, (uint64_t)f->length + leads[f->lead - 0xc0].extra);
    default:
        return FRAME_BAD;
    }
}

static enum frame_result start_value(struct frame *f, unsigned char lead)
{
    if (++f->values > FRAME_VALUES_MAX) {
        return FRAME_BAD;
    }
    if (lead < 0x80 || lead >= 0xe0) {
        return start_skip(f, 0); // a small number
    }
    if (lead < 0x90) {
        return open_container(f, 2 * (uint64_t)(lead & 0x0f));
    }
    if (lead < 0xa0) {
        return open_container(f, lead & 0x0f);
    }
    if (lead < 0xc0) {
        return start_skip(f, lead & 0x1f); // a short string
    }
    f->lead = lead;
    f->length = 0;
    f->length_len = leads[lead - 0xc0].length_len;
    return f->length_len ? FRAME_MORE : end_header(f);
}

static enum frame_result feed_byte(struct frame *f, unsigned char byte)
{
    if (f->bytes == FRAME_BYTES_MAX) {
        return FRAME_BAD;
    }
    f->bytes++;
    if (f->length_len == 0) {
        return start_value(f, byte);
    }
    f->length = f->length << 8 | byte;
    return --f->length_len ? FRAME_MORE : end_header(f);
}

// Takes what is there of the bytes to skip.
static enum frame_result skip(struct frame *f, size_t len, size_t *at)
{
    size_t n = len - *at < f->skip ? len - *at : f->skip;
    f->skip -= n;
    f->bytes += n;
    *at += n;
    return f->skip == 0 && close_value(f) ? FRAME_END : FRAME_MORE;
}

enum frame_result frame_feed(struct frame *f, const void *bytes, size_t len, size_t *used)
{
    const unsigned char *p = bytes;
    enum frame_result result = FRAME_MORE;
    size_t at = 0;
    while (at < len && result == FRAME_MORE) {
        if (f->skip > 0) {
            result = skip(f, len, &at);
        } else {
            result = feed_byte(f, p[at]);
            at++;
        }
    }
    *used = at;
    if (result == FRAME_END) {
        *f = (struct frame){0};
    }
    return result;
}
