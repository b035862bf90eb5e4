#include "base/base64.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_size(size_t n)
{
    return (n + 2) / 3 * 4;
}

int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

void base64_add(struct buf *out, struct sv bytes)
{
    if (!buf_reserve(out, base64_size(bytes.n))) {
        return;
    }
    const unsigned char *p = (const unsigned char *)bytes.p;
    char quad[4];
    size_t i = 0;
    for (; i + 2 < bytes.n; i += 3) {
        quad[0] = digits[p[i] >> 2];
        quad[1] = digits[(p[i] & 3) << 4 | p[i + 1] >> 4];
        quad[2] = digits[(p[i + 1] & 15) << 2 | p[i + 2] >> 6];
        quad[3] = digits[p[i + 2] & 63];
        buf_add(out, quad, sizeof quad);
    }
    if (i < bytes.n) {
        unsigned second = i + 1 < bytes.n ? p[i + 1] : 0;
        quad[0] = digits[p[i] >> 2];
        quad[1] = digits[(p[i] & 3) << 4 | second >> 4];
        quad[2] = i + 1 < bytes.n ? digits[(second & 15) << 2] : '=';
        quad[3] = '=';
        buf_add(out, quad, sizeof quad);
    }
}
