#pragma once

#include "pi.h"
#include "tool/definition.h"

/**
 * The definition of a tool that the face runs: its calls go to the host. Lives until the
 * agent ends, since calls may still run one that was replaced or removed.
 */
struct added_tool {
    struct added_tool *next;
    struct pi_tool_definition definition; // its texts belong to this struct
};

/** Copies and checks what the face gave. PI_INVALID names what is wrong with it. */
enum pi_status added_tool_create(struct added_tool **out,
                                 const struct pi_added_tool *tool,
                                 struct pi_error *err) NODISCARD;

void added_tool_destroy(struct added_tool *t); // accepts NULL; only this one
