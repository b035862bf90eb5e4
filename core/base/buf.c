#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST_CAP = 64 };

void buf_finish(struct buf *b)
{
    if (b) {
        free(b->data);
        *b = (struct buf){0};
    }
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data) {
        b->data[0] = '\0';
    }
}

bool buf_ok(const struct buf *b)
{
    return !b->failed;
}

static bool fail(struct buf *b)
{
    b->failed = true;
    return false;
}

bool buf_reserve(struct buf *b, size_t more)
{
    if (b->failed) {
        return false;
    }
    if (more < b->cap - b->len) {
        return true;
    }
    if (more >= SIZE_MAX - b->len) {
        return fail(b);
    }
    size_t need = b->len + more + 1;
    size_t cap = b->cap > SIZE_MAX / 2 ? need : b->cap * 2;
    if (cap < need) {
        cap = need;
    }
    if (cap < BUF_FIRST_CAP) {
        cap = BUF_FIRST_CAP;
    }
    char *data = realloc(b->data, cap);
    if (!data) {
        return fail(b);
    }
    data[b->len] = '\0';
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    if (n == 0 || !buf_reserve(b, n)) {
        return;
    }
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *text)
{
    buf_addsv(b, sv_of(text));
}

void buf_addsv(struct buf *b, struct sv text)
{
    buf_add(b, text.p, text.n);
}

void buf_addc(struct buf *b, char c)
{
    if (buf_reserve(b, 1)) {
        b->data[b->len++] = c;
        b->data[b->len] = '\0';
    }
}

void buf_addf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vaddf(b, format, args);
    va_end(args);
}

void buf_vaddf(struct buf *b, const char *format, va_list args)
{
    if (b->failed) {
        return;
    }
    // Most texts fit into the room that is left; the second try is for those that do not.
    va_list again;
    va_copy(again, args);
    size_t room = b->cap - b->len;
    int n = vsnprintf(room ? b->data + b->len : NULL, room, format, args);
    if (n < 0) {
        fail(b);
    } else if ((size_t)n < room) {
        b->len += (size_t)n;
    } else if (buf_reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    if (b->data) {
        b->data[b->len] = '\0';
    }
}

void buf_truncate(struct buf *b, size_t n)
{
    if (n < b->len) {
        b->len = n;
        b->data[n] = '\0';
    }
}

void buf_drop(struct buf *b, size_t n)
{
    size_t k = n < b->len ? n : b->len;
    if (k > 0) {
        memmove(b->data, b->data + k, b->len - k + 1);
        b->len -= k;
    }
}

const char *buf_cstr(const struct buf *b)
{
    return b->data ? b->data : "";
}

struct sv buf_sv(const struct buf *b)
{
    return sv_make(b->data, b->len);
}

char *buf_take(struct buf *b)
{
    char *data = NULL;
    if (buf_reserve(b, 0)) {
        data = b->data;
        *b = (struct buf){0};
    }
    buf_finish(b);
    return data;
}
