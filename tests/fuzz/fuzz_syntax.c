#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "syntax/check.h"
#include "syntax/outline.h"

// The first byte gives the language; a NUL parts the old text from the new one. No crash,
// notes that are whole, no note when nothing changed, and no more rows than allowed.

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static size_t lines_of(struct sv text)
{
    size_t n = 0;
    struct sv line;
    while (sv_next_line(&text, &line)) {
        n++;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {
        "a.c",  "a.h",  "a.cpp",  "a.py", "a.ts", "a.tsx", "a.go",   "a.rs",
        "a.rb", "a.js", "a.yaml", "a.md", "a.sh", "a",     "a.json", "a.php"};
    static struct env environment;
    static struct grammars *grammars;
    if (size == 0 ||
        (!grammars && (env_copy(&environment, NULL, NULL) != PI_OK ||
                       grammars_create(&grammars, &environment, NULL, NULL) != PI_OK))) {
        return 0;
    }
    const char *path = paths[data[0] % (sizeof paths / sizeof *paths)];
    struct sv after = sv_make((const char *)data + 1, size - 1), before = {0};
    const char *nul = after.n > 0 ? memchr(after.p, '\0', after.n) : NULL;
    if (nul) {
        before = sv_make(after.p, (size_t)(nul - after.p));
        after = sv_from(after, before.n + 1);
    }
    struct buf out = {0};
    struct check_request check = {.grammars = grammars,
                                  .path = path,
                                  .before = before,
                                  .after = after,
                                  .is_new = !nul};
    check_syntax(&out, &check);
    need(out.len == 0 || (sv_starts(buf_sv(&out), sv_of("\n[")) &&
                          sv_ends(buf_sv(&out), sv_of("]")) && !sv_eq(before, after)));
    buf_clear(&out);
    size_t left_out;
    struct outline_request outline = {.grammars = grammars, .path = path, .text = after};
    need(!outline_write(&out, &left_out, &outline) == (out.len > 0));
    need(lines_of(buf_sv(&out)) <= OUTLINE_MAX_ROWS);
    buf_finish(&out);
    return 0;
}
