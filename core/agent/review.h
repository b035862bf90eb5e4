#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "tool/change.h"

struct command;
struct pi_agent;

/**
 * A change that waits for the user. The call's thread and the agent's list of questions
 * hold one reference each; they meet in `answer` and in done_fd.
 */
struct review {
    atomic_int refs;
    // Constant.
    char *call_id, *tool_name, *path;
    struct buf diff;     // unified
    size_t diff_omitted; // bytes of it that were too long to show
    int done_fd;         // eventfd, readable once answered
    // Written once, before done_fd becomes readable.
    bool allowed;
    struct buf reason;
};

/** The agent's review, for tool contexts; data is the agent. */
enum pi_status review_ask(void *data, const struct tool_call *call,
                          const struct host_snapshot *snapshot,
                          const struct host_change *changes, size_t len,
                          struct pi_error *err);

/** On the agent thread: the thread that waits gets its answer. reason may be NULL. */
void review_answer(struct review *r, bool allow, const char *reason);

void review_unref(struct review *r); // accepts NULL
