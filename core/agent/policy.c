#include "agent/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sys/path.h"

enum pi_status policy_init(struct policy *p, enum pi_permissions permissions,
                           const char *cwd, const char *temp_dir, struct pi_error *err)
{
    *p = (struct policy){.permissions = permissions};
    enum pi_status status = path_real(&p->workspace, cwd, err);
    if (!status) {
        status = path_real(&p->temp_dir, temp_dir, err);
    }
    if (status) {
        policy_finish(p);
    }
    return status;
}

void policy_finish(struct policy *p)
{
    for (size_t i = 0; i < p->len; i++) {
        free(p->allowed[i]);
    }
    free(p->allowed);
    free(p->workspace);
    free(p->temp_dir);
    *p = (struct policy){0};
}

// A rule is a word for the effect, a blank, and the command, folder or tool that it
// allows.
static char *rule_text(const struct tool_call *call)
{
    struct buf rule = {0};
    const struct tool_plan *plan = &call->plan;
    if (plan->effect == TOOL_EXEC) {
        buf_adds(&rule, "exec ");
        buf_adds(&rule, plan->command ? plan->command : "");
    } else if (plan->effect == TOOL_CHANGE && plan->target.path) {
        char *dir = path_dir(plan->target.path);
        buf_adds(&rule, "change ");
        buf_adds(&rule, dir ? dir : "");
        rule.failed = rule.failed || !dir;
        free(dir);
    } else {
        buf_adds(&rule, "tool ");
        buf_adds(&rule, call->name);
    }
    return buf_take(&rule);
}

static bool folder_allowed(const struct policy *p, const char *path)
{
    static const char word[] = "change ";
    for (size_t i = 0; i < p->len; i++) {
        if (sv_starts(sv_of(p->allowed[i]), sv_of(word)) &&
            path_inside(path, p->allowed[i] + sizeof word - 1)) {
            return true;
        }
    }
    return false;
}

static bool rule_exists(const struct policy *p, const struct tool_call *call)
{
    char *rule = rule_text(call);
    bool found = false;
    for (size_t i = 0; rule && i < p->len && !found; i++) {
        found = strcmp(p->allowed[i], rule) == 0;
    }
    free(rule);
    return found;
}

enum run_verdict policy_judge(const struct policy *p, const struct tool_call *call)
{
    const struct tool_plan *plan = &call->plan;
    if (p->permissions == PI_PERMISSIONS_YOLO || plan->effect == TOOL_READ) {
        return RUN_ALLOW;
    }
    if (plan->effect == TOOL_CHANGE && plan->target.path) {
        const char *path = plan->target.path;
        bool inside = path_inside(path, p->workspace) || path_inside(path, p->temp_dir) ||
                      folder_allowed(p, path);
        return inside ? RUN_ALLOW : RUN_ASK;
    }
    return rule_exists(p, call) ? RUN_ALLOW : RUN_ASK;
}

bool policy_allow_session(struct policy *p, const struct tool_call *call)
{
    char *rule = rule_text(call);
    void *grown =
        rule ? vec_grow(p->allowed, &p->cap, p->len + 1, sizeof *p->allowed) : NULL;
    if (!grown) {
        free(rule);
        return false;
    }
    p->allowed = grown;
    p->allowed[p->len++] = rule;
    return true;
}

void policy_session_means(const struct tool_call *call, struct buf *out)
{
    const struct tool_plan *plan = &call->plan;
    if (plan->effect == TOOL_EXEC) {
        buf_adds(out, "this exact command, until the session ends");
    } else if (plan->effect == TOOL_CHANGE && plan->target.path) {
        char *dir = path_dir(plan->target.path);
        buf_addf(out, "changes below %s, until the session ends",
                 dir ? dir : "this folder");
        free(dir);
    } else {
        buf_addf(out, "the tool %s, until the session ends", call->name);
    }
}
