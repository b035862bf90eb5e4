#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "llm/model.h"
#include "llm/retry.h"

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

    char *default_provider, *default_model;    // NULL = none
    enum thinking_level thinking;              // defaultThinkingLevel; medium
    int64_t thinking_budgets[THINKING_LEVELS]; // tokens; 0 = the provider's own
    struct retry_policy retry;
    int64_t idle_timeout_ms; // retry.provider.timeoutMs: without a byte; 0 = not said
    struct {
        bool enabled;
        int64_t reserve_tokens, keep_recent_tokens;
    } compaction;
    bool block_images;  // images.blockImages: none is sent
    bool resize_images; // images.autoResize

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
