#pragma once

#include "tool/tool.h"

/**
 * ToolDefinition: what the product knows about a tool. The registry wraps it into the
 * tool that the loop sees, so the same definition can run another body.
 */

/** Where a tool comes from; TOOL_FACE: the face runs it, in Lisp or Lua. */
enum tool_source { TOOL_BUILTIN, TOOL_SETTINGS, TOOL_FACE };

struct pi_tool_definition {
    const char *name;
    const char *label;       // for people
    const char *description; // for the model
    const char *parameters;  // JSON schema (the subset of validate.h)
    const char *snippet;     // one line for the system prompt; NULL = not listed there
    const char *const *guidelines; // for the system prompt, NULL-terminated; may be NULL
    /**
     * How a call is shown in one line: text with {argument} places, e.g. "{path}" or
     * "{command}"; a place whose argument is absent shows nothing.
     */
    const char *title;
    enum tool_source source;
    enum tool_mode mode;
    tool_prepare_fn prepare; // may be NULL
    tool_plan_fn plan;       // may be NULL
    tool_execute_fn execute;
};
