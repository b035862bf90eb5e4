#include "target.h"

#include <stdlib.h>

#include "sys/path.h"

enum pi_status target_allowed(const struct tool_context *context, const char *real,
                              const char *shown, struct pi_error *err)
{
    if (!context->restrict_dir || path_inside(real, context->restrict_dir)) {
        return PI_OK;
    }
    return error_set(err, PI_DENIED,
                     "%s is outside %s, and this session may only use files below that "
                     "folder. Nothing was read or changed.",
                     shown, context->restrict_dir);
}

static enum pi_status plan_path(struct tool_plan *plan, const char *argument,
                                const struct tool_context *context,
                                enum tool_effect effect, struct pi_error *err)
{
    struct path_request request = {
        .argument = argument,
        .cwd = context->cwd,
        .home = context->home,
        .for_reading = effect == TOOL_READ,
    };
    char *path = NULL;
    bool folded = false;
    enum pi_status st = path_resolve(&path, &folded, &request, err);
    if (st != PI_OK) {
        return st;
    }
    plan->effect = effect;
    st = host_resolve(&plan->target, path, argument, err);
    free(path);
    if (st != PI_OK) {
        return st;
    }
    plan->target.folded = folded;
    return target_allowed(context, plan->target.path, argument, err);
}

enum pi_status target_plan(struct tool_plan *plan, const struct json *args,
                           const struct tool_context *context, enum tool_effect effect,
                           struct pi_error *err)
{
    const char *argument = json_get_str(args, "path");
    if (!argument) {
        return error_set(err, PI_INVALID, "path: missing; give the path of the file");
    }
    if (*argument == '\0') {
        return error_set(err, PI_INVALID, "path: empty; give the path of the file");
    }
    return plan_path(plan, argument, context, effect, err);
}

enum pi_status target_plan_tree(struct tool_plan *plan, const struct json *args,
                                const struct tool_context *context, struct pi_error *err)
{
    const char *argument = json_get_str(args, "path");
    return plan_path(plan, argument && *argument ? argument : ".", context, TOOL_READ,
                     err);
}
