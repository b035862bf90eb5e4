#include "read_outline.h"

#include "syntax/language.h"
#include "syntax/outline.h"

struct read_outline read_outline_begin(const struct tool_call *call, uint64_t first)
{
    bool asked = json_get_bool(call->args, "outline", false);
    return (struct read_outline){
        .asked = asked,
        .page = json_get(call->args, "offset") || json_get(call->args, "limit"),
        .keep = call->context->grammars && (asked || first == 1),
    };
}

void read_outline_start(struct read_outline *o, const char *path, struct sv start)
{
    o->keep = o->keep && language_of(path, start);
}

void read_outline_feed(struct read_outline *o, struct sv piece)
{
    if (o->keep && o->whole.len + piece.n > OUTLINE_MAX_BYTES) {
        o->keep = false;
        o->large = true;
        buf_finish(&o->whole);
    }
    if (o->keep) {
        buf_addsv(&o->whole, piece);
    }
}

void read_outline_end(struct read_outline *o, struct read_text *text,
                      const struct tool_call *call)
{
    struct outline_request request = {
        .grammars = call->context->grammars,
        .path = text->target->path,
        .text = buf_sv(&o->whole),
        .cancel = call->cancel,
    };
    // Without being asked for only where lines are missing.
    bool wanted = o->asked || (text->window->first == 1 && read_text_is_cut(text));
    const char *why = "its text is not known as a whole";
    if (o->large) {
        why = "it has more than 2 MiB";
    } else if (wanted && buf_ok(&o->whole) && text->window->at_end) {
        why = outline_write(&o->rows, &text->left_out, &request);
    }
    text->outline = buf_sv(&o->rows);
    text->outline_only = o->asked && !o->page && text->outline.n > 0;
    text->no_outline = o->asked ? why : NULL;
}

void read_outline_finish(struct read_outline *o)
{
    buf_finish(&o->whole);
    buf_finish(&o->rows);
}
