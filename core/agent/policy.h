#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "pi.h"
#include "tool/run.h"

/**
 * May this call run? Decided on what the call's plan says it will do, never on its name.
 * Reads are never asked for; commands, unknown effects and changes outside the workspace
 * are. Owned by the agent thread.
 */
struct policy {
    enum pi_permissions permissions;
    char *workspace; // real path of the session's directory
    char *temp_dir;  // real path
    char **allowed;  // answers for the session, see rule_text in policy.c
    size_t len, cap;
};

/** PI_NOMEM; PI_NOT_FOUND when cwd is missing. */
enum pi_status policy_init(struct policy *p, enum pi_permissions permissions,
                           const char *cwd, const char *temp_dir,
                           struct pi_error *err) NODISCARD;
void policy_finish(struct policy *p);

enum run_verdict policy_judge(const struct policy *p, const struct tool_call *call);

/** Allows for the session: this exact command, this folder, or this tool. False without
 * memory. */
bool policy_allow_session(struct policy *p, const struct tool_call *call) NODISCARD;

/** Appends what the answer "session" would allow, for the question. */
void policy_session_means(const struct tool_call *call, struct buf *out);
