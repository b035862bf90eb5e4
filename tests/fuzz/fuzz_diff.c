#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/diff.h"

// Input: the old text, a NUL, the new text. The hunks must lead from one to the other.

static void copy_lines(struct buf *out, struct sv *rest, size_t n)
{
    struct sv line;
    for (size_t i = 0; i < n; i++) {
        const char *start = rest->p;
        if (!sv_next_line(rest, &line)) {
            abort();
        }
        buf_add(out, start, (size_t)(rest->p - start));
    }
}

static void check(struct sv before, struct sv after)
{
    struct diff d = {0};
    struct buf built = {0}, removed = {0}, passed = {0};
    struct sv a = before, b = after;
    size_t old_line = 1, new_line = 1;
    if (diff_lines(&d, before, after, NULL) != PI_OK) {
        abort();
    }
    for (size_t i = 0; i < d.len; i++) {
        const struct diff_hunk *h = &d.hunks[i];
        if (h->old_start < old_line || (i > 0 && h->old_start == old_line)) {
            abort();
        }
        size_t same = h->old_start - old_line;
        copy_lines(&built, &a, same);
        copy_lines(&passed, &b, same);
        new_line += same;
        if (h->new_start != new_line || h->old_len + h->new_len == 0) {
            abort();
        }
        copy_lines(&removed, &a, h->old_len);
        copy_lines(&built, &b, h->new_len);
        old_line = h->old_start + h->old_len;
        new_line += h->new_len;
    }
    buf_addsv(&built, a);
    if (!sv_eq(buf_sv(&built), after)) {
        abort();
    }
    diff_finish(&d);
    buf_finish(&built);
    buf_finish(&removed);
    buf_finish(&passed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv in = sv_make((const char *)data, size);
    const char *nul = size ? memchr(in.p, 0, in.n) : NULL;
    size_t n = nul ? (size_t)(nul - in.p) : in.n;
    struct sv before = sv_make(in.p, n);
    struct sv after = sv_from(in, n + 1);
    check(before, after);
    struct diff_window w = {before, after, 1, 1};
    struct buf out = {0};
    size_t context = size % 5;
    if (diff_write_patch(&out, "a path", &w, 1, context, NULL) != PI_OK ||
        diff_write_rows(&out, &w, 1, context, 1000, NULL) != PI_OK) {
        abort();
    }
    buf_finish(&out);
    return 0;
}
