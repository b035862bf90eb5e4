#include "tools.h"

#include "pi_tools.h"

// In the order in which the model and the prompt see them.
static const struct pi_tool_definition *const builtin[] = {
    &tool_read, &tool_bash, &tool_edit, &tool_write, &tool_grep, &tool_find, &tool_ls,
};

const struct pi_tool_definition *const *pi_tools_builtin(size_t *len)
{
    *len = sizeof(builtin) / sizeof(builtin[0]);
    return builtin;
}
