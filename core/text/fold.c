#include "text/fold.h"

#include <utf8proc.h>

static uint32_t fold_sign(uint32_t code)
{
    switch (code) {
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x201B:
        return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0x201F:
        return '"';
    case 0x2212:
        return '-';
    default:
        break;
    }
    if (code >= 0x2010 && code <= 0x2015) {
        return '-';
    }
    return code != '\t' && code != 0xFEFF && fold_is_blank(code) ? ' ' : code;
}

size_t fold_char(uint32_t code, uint32_t out[FOLD_MAX])
{
    if (code < 0x80) {
        out[0] = code;
        return 1;
    }
    utf8proc_int32_t parts[FOLD_MAX];
    utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)code, parts, FOLD_MAX,
                                UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, NULL);
    if (n < 1 || n > FOLD_MAX) {
        out[0] = code;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        out[i] = fold_sign((uint32_t)parts[i]);
    }
    return (size_t)n;
}

bool fold_is_blank(uint32_t code)
{
    switch (code) {
    case ' ':
    case '\t':
    case '\v':
    case '\f':
    case 0xA0:
    case 0x1680:
    case 0x202F:
    case 0x205F:
    case 0x3000:
    case 0xFEFF:
        return true;
    default:
        return code >= 0x2000 && code <= 0x200A;
    }
}
