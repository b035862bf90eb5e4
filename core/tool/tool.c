#include "tool/tool.h"

#include <stdlib.h>
#include <string.h>

void tool_plan_finish(struct tool_plan *p)
{
    if (!p) {
        return;
    }
    host_target_finish(&p->target);
    free(p->command);
    *p = (struct tool_plan){0};
}

void tool_result_finish(struct tool_result *r)
{
    if (!r) {
        return;
    }
    content_finish(&r->content);
    json_destroy(r->details);
    for (size_t i = 0; i < r->changes_len; i++) {
        free(r->changes[i].path);
    }
    free(r->changes);
    *r = (struct tool_result){0};
}

bool tool_result_text(struct tool_result *r, struct sv text)
{
    content_finish(&r->content);
    return content_add_text(&r->content, text);
}

void tool_result_error(struct tool_result *r, const char *message)
{
    r->is_error = true;
    // Without memory the result stays an error without words.
    (void)!tool_result_text(r, sv_of(message));
}

bool tool_result_changed(struct tool_result *r, const struct tool_file_change *change)
{
    size_t size = (r->changes_len + 1) * sizeof(*r->changes);
    struct tool_file_change *grown = realloc(r->changes, size);
    if (!grown) {
        return false;
    }
    r->changes = grown;
    char *path = change->path ? strdup(change->path) : NULL;
    if (change->path && !path) {
        return false;
    }
    grown[r->changes_len] = *change;
    grown[r->changes_len++].path = path;
    return true;
}
