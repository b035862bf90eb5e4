#include "base/utf8_scan.h"

#include <stdint.h>
#include <string.h>

// The number of bytes that a lead byte asks for, 0 when it can start nothing.
static size_t wanted(unsigned char lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t utf8_scan_one(struct sv s, enum utf8_kind *kind)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t want = wanted(p[0]);
    *kind = want ? UTF8_GOOD : UTF8_BAD;
    if (want < 2) {
        return 1;
    }
    for (size_t i = 1; i < want; i++) {
        if (i == s.n) {
            *kind = UTF8_CUT;
            return i;
        }
        if (i == 1 ? !utf8_second_fits(p[0], p[1]) : !utf8_continues(p[i])) {
            *kind = UTF8_BAD;
            return i;
        }
    }
    return want;
}

static size_t ascii_run(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (n - i >= 32) {
        uint64_t w[4];
        memcpy(w, p + i, sizeof w);
        if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u) {
            break;
        }
        i += 32;
    }
    while (i < n && p[i] < 0x80) {
        i++;
    }
    return i;
}

size_t utf8_scan_run(struct sv s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;
    while (i < s.n) {
        if (p[i] < 0x80) {
            i += ascii_run(p + i, s.n - i);
            continue;
        }
        size_t len = utf8_scan_wide(p + i, s.n - i);
        if (len == 0) {
            break;
        }
        i += len;
    }
    return i;
}
