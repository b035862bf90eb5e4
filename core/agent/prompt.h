#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "tool/registry.h"

/**
 * The system prompt: role, tools with snippets, guidelines, appended text, context files
 * (AGENTS.md, CLAUDE.md), and as the last two lines the date and the working directory.
 * Byte for byte the same for the same input, so that a provider's cache holds.
 */
struct prompt_options {
    const char *cwd;       // absolute
    const char *agent_dir; // absolute
    const char *home;
    const char *date; // YYYY-MM-DD
    const struct registry *registry;
    const char *system_prompt; // replaces the default: a file's path or text; NULL
    const char *const *append_system_prompt; // NULL-terminated; files or text; NULL
    bool no_context_files;
};

/**
 * Appends the prompt to out and one line for each file that could not be used to
 * problems. Sources when the options are NULL: <cwd>/.pi/SYSTEM.md, else
 * <agent_dir>/SYSTEM.md; the same for APPEND_SYSTEM.md. Files over 256 KiB, special files
 * and folders are problems, not errors.
 */
enum pi_status prompt_build(struct buf *out, struct buf *problems,
                            const struct prompt_options *options,
                            struct pi_error *err) NODISCARD;
