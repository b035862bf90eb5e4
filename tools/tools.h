#pragma once

#include "tool/definition.h"

/** The built-in definitions: one file in tools/ and one row in tools.c each. */
extern const struct pi_tool_definition tool_read, tool_bash, tool_edit, tool_write,
    tool_grep, tool_find, tool_ls;
