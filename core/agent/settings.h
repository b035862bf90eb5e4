#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/**
 * Where the user's files are and what settings.json says. Global file
 * <agent_dir>/settings.json, project file <cwd>/.pi/settings.json over it; objects merge
 * one level deep, arrays replace. Both allow // comments and trailing commas.
 */
struct settings {
    char *agent_dir;            // absolute
    char *session_dir;          // sessionDir, absolute, NULL = none
    char *shell_path;           // shellPath, NULL = none
    char *shell_command_prefix; // shellCommandPrefix, NULL = none
    bool steering_all;          // steeringMode "all"; default one-at-a-time
    bool follow_up_all;         // followUpMode "all"
    struct buf problems; // one line a mistake: file, line, what was expected; "" = none
};

/**
 * Loads both files; a mistake is a line in problems and the rest still works. agent_dir
 * NULL: PI_CODING_AGENT_DIR of the environment, else <home>/.pi/agent. Only PI_NOMEM is
 * an error.
 * PI_CODING_AGENT_SESSION_DIR of the environment goes before sessionDir.
 */
enum pi_status settings_load(struct settings *out, const char *agent_dir, const char *cwd,
                             const char *home, struct pi_error *err) NODISCARD;

void settings_finish(struct settings *s);
