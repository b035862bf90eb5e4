#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/glob.h"

// The first byte gives the flags, the first line behind it is a pattern, the rest a path.
// What must hold for every pattern: quoted, a path matches itself; a case that does not
// count never makes less match; without magic a pattern matches itself alone.

static bool quoted_matches(struct sv path, unsigned flags)
{
    char quoted[2 * 512];
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++) {
        if (strchr("*?[]{},\\!^-", path.p[i])) {
            quoted[n++] = '\\';
        }
        quoted[n++] = path.p[i];
    }
    return glob_match(sv_make(quoted, n), path, flags);
}

static bool is_literal(struct sv pattern)
{
    for (size_t i = 0; i < pattern.n; i++) {
        if (strchr("*?[{\\", pattern.p[i])) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 512 || memchr(data, '\0', size)) {
        return 0;
    }
    unsigned flags = data[0] % 4;
    struct sv rest = sv_make((const char *)data + 1, size - 1), pattern;
    if (!sv_next_line(&rest, &pattern)) {
        return 0;
    }
    bool matched = glob_match(pattern, rest, flags);
    if (!quoted_matches(rest, flags)) {
        abort();
    }
    // A class such as [^a] takes fewer characters when their case does not count.
    bool class = memchr(pattern.p, '[', pattern.n) != NULL;
    if (matched && !class && !glob_match(pattern, rest, flags | GLOB_IGNORE_CASE)) {
        abort();
    }
    if (is_literal(pattern) && !(flags & GLOB_IGNORE_CASE) &&
        matched != sv_eq(pattern, rest)) {
        abort();
    }
    return 0;
}
