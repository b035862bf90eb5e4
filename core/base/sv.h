#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** A borrowed slice of bytes. It owns nothing; whoever made it says how long it lives. */
struct sv {
    const char *p;
    size_t n;
};

static inline struct sv sv_make(const char *p, size_t n)
{
    return (struct sv){.p = p, .n = n};
}

/** The slice of a C string; NULL gives the empty slice. */
static inline struct sv sv_of(const char *text)
{
    return sv_make(text, text ? strlen(text) : 0);
}

static inline bool sv_eq(struct sv a, struct sv b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool sv_eqs(struct sv a, const char *b)
{
    return sv_eq(a, sv_of(b));
}

static inline bool sv_starts(struct sv a, struct sv prefix)
{
    return a.n >= prefix.n && sv_eq(sv_make(a.p, prefix.n), prefix);
}

/** The slice from byte `from` (clamped to the end) on. */
static inline struct sv sv_from(struct sv a, size_t from)
{
    size_t k = from < a.n ? from : a.n;
    return sv_make(a.p ? a.p + k : NULL, a.n - k);
}

static inline bool sv_ends(struct sv a, struct sv suffix)
{
    return a.n >= suffix.n && sv_eq(sv_from(a, a.n - suffix.n), suffix);
}

/** The slice of n bytes from byte `from` on; both are clamped to a. */
static inline struct sv sv_sub(struct sv a, size_t from, size_t n)
{
    struct sv rest = sv_from(a, from);
    return sv_make(rest.p, n < rest.n ? n : rest.n);
}

/**
 * Takes the next line off *rest: without its LF, but with a CR before it. False when
 * *rest was empty. A final LF ends the last line, it does not start another.
 */
static inline bool sv_next_line(struct sv *rest, struct sv *line)
{
    if (rest->n == 0) {
        return false;
    }
    const char *lf = memchr(rest->p, '\n', rest->n);
    size_t n = lf ? (size_t)(lf - rest->p) : rest->n;
    *line = sv_make(rest->p, n);
    *rest = sv_from(*rest, lf ? n + 1 : n);
    return true;
}
