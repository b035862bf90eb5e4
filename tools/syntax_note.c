#include "syntax_note.h"

#include "syntax/check.h"

void syntax_note_add(struct buf *out, const struct syntax_note *note)
{
    enum { TOO_LARGE = 4 * 1024 * 1024 }; // not worth a copy: it would not be parsed
    struct buf after = {0};
    if (!note->call->context->grammars || note->before.n > TOO_LARGE ||
        host_changed_text(&after, note->before, note->changes, note->len) != PI_OK) {
        buf_finish(&after);
        return;
    }
    struct check_request request = {
        .grammars = note->call->context->grammars,
        .path = note->call->plan.target.path,
        .before = note->before,
        .after = buf_sv(&after),
        .is_new = note->is_new,
        .cancel = note->call->cancel,
    };
    check_syntax(out, &request);
    buf_finish(&after);
}
