#include "host/line_changes.h"

#include <stdlib.h>
#include <string.h>

#include "text/diff.h"

// A place in a text that only moves forward.
struct place {
    struct sv text;
    size_t line; // 1-based
    size_t at;
};

static size_t go_to_line(struct place *p, size_t line)
{
    while (p->line < line && p->at < p->text.n) {
        const char *lf = memchr(p->text.p + p->at, '\n', p->text.n - p->at);
        p->at = lf ? (size_t)(lf - p->text.p) + 1 : p->text.n;
        p->line++;
    }
    return p->at;
}

enum pi_status line_changes_make(struct host_change **out, size_t *len, struct sv before,
                                 struct sv after, struct pi_error *err)
{
    struct place old = {.text = before, .line = 1}, new = {.text = after, .line = 1};
    struct host_change *changes = NULL;
    struct diff diff = {0};
    enum pi_status st = diff_lines(&diff, before, after, err);
    if (st == PI_OK && diff.len > 0) {
        changes = calloc(diff.len, sizeof(*changes));
        st = changes ? PI_OK : error_nomem(err);
    }
    for (size_t i = 0; st == PI_OK && i < diff.len; i++) {
        const struct diff_hunk *h = &diff.hunks[i];
        size_t old_from = go_to_line(&old, h->old_start);
        size_t new_from = go_to_line(&new, h->new_start);
        size_t old_to = go_to_line(&old, h->old_start + h->old_len);
        size_t new_to = go_to_line(&new, h->new_start + h->new_len);
        changes[i] = (struct host_change){
            .offset = old_from,
            .length = old_to - old_from,
            .text = sv_make(after.p ? after.p + new_from : NULL, new_to - new_from),
        };
    }
    *out = changes;
    *len = st == PI_OK ? diff.len : 0;
    diff_finish(&diff);
    return st;
}
