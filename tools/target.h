#pragma once

#include "tool/tool.h"

/**
 * The plan of a tool that works on the one file named by its argument "path": resolves
 * the argument, finds the real file and checks that the session may go there. effect is
 * TOOL_READ or TOOL_CHANGE; only a read may find a file under a variant of its name.
 *
 * PI_INVALID (the path), PI_DENIED (outside the folder that the session is kept to; the
 * message names both), PI_IO (a loop of links), PI_NOMEM. What is filled belongs to plan.
 */
enum pi_status target_plan(struct tool_plan *plan, const struct json *args,
                           const struct tool_context *context, enum tool_effect effect,
                           struct pi_error *err) NODISCARD;

/** The plan of a tool that reads a file or folder; without "path" that is the working
 * directory. Else as target_plan. */
enum pi_status target_plan_tree(struct tool_plan *plan, const struct json *args,
                                const struct tool_context *context,
                                struct pi_error *err) NODISCARD;

/** PI_DENIED when the real path lies outside context->restrict_dir; shown is for the
 * message. */
enum pi_status target_allowed(const struct tool_context *context, const char *real,
                              const char *shown, struct pi_error *err) NODISCARD;
