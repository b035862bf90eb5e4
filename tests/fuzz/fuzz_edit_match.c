#include <stdint.h>
#include <stdlib.h>

#include "edit_plan.h"

// The input is a text, oldText and newText, separated by NUL. Whatever is planned, the
// bytes around the place of oldText stay, and changes are in order.

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct sv next_part(struct sv *rest)
{
    const char *nul = rest->n > 0 ? memchr(rest->p, '\0', rest->n) : NULL;
    size_t n = nul ? (size_t)(nul - rest->p) : rest->n;
    struct sv part = sv_make(rest->p, n);
    *rest = sv_from(*rest, nul ? n + 1 : n);
    return part;
}

static void check(const struct edit_plan *plan, struct sv text, struct sv old)
{
    struct edit_match m;
    struct buf after = {0};
    struct host_change *changes = edit_changes_list(&plan->changes);
    require(changes && plan->changes.len > 0);
    require(host_changed_text(&after, text, changes, plan->changes.len) == PI_OK);
    require(!sv_eq(text, buf_sv(&after)));
    require(edit_match_find(&m, text, old, NULL) == PI_OK);
    if (m.count == 1) { // else it was found without line numbers
        require(after.len >= m.start + (text.n - m.end));
        require(sv_starts(buf_sv(&after), sv_make(text.p, m.start)));
        require(sv_ends(buf_sv(&after), sv_from(text, m.end)));
    }
    buf_finish(&after);
    free(changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv rest = sv_make((const char *)data, size);
    struct sv text = next_part(&rest);
    struct edit_request edit;
    edit.old_text = next_part(&rest);
    edit.new_text = next_part(&rest);
    struct edit_plan plan = {0};
    enum pi_status st = edit_plan_make(&plan, text, "f", &edit, 1, NULL, NULL);
    require(st == PI_OK || (st == PI_INVALID && plan.problem.len > 0));
    if (st == PI_OK) {
        check(&plan, text, edit.old_text);
    }
    edit_plan_finish(&plan);
    return 0;
}
