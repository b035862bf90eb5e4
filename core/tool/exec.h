#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sv.h"
#include "sys/cancel.h"
#include "sys/env.h"

/**
 * How bash runs a command; pluggable, so that a face or a test can run it elsewhere.
 */

struct exec_request {
    const char *shell;   // absolute path of the shell
    const char *command; // as it will be run, one argument after -c
    const char *cwd;
    const struct env *environment;
    const char *guard_path; // pi-guard
    const char *log_path; // where output goes on flowing after the drain; NULL = nowhere
    double timeout_s;     // <= 0: none
};

enum exec_end { EXEC_EXITED, EXEC_SIGNALED, EXEC_TIMED_OUT, EXEC_ABORTED };

struct exec_result {
    enum exec_end end;
    int code;      // exit code or signal number
    unsigned left; // descendants that still run
};

struct exec_ops {
    /**
     * Runs the command and feeds its output (stdout and stderr, one pipe) to sink as it
     * comes, on this thread; sink returns false to be spared more. Returns when the shell
     * has exited plus 100 ms of drain, or after timeout or abort (TERM, 2 s, KILL; 300 ms
     * when urgent).
     */
    enum pi_status (*run)(const struct exec_request *request,
                          bool (*sink)(void *data, struct sv bytes), void *data,
                          struct cancel *cancel, struct exec_result *result,
                          struct pi_error *err);
};

/** May change command, cwd and environment of a command before it runs. */
struct exec_hook {
    enum pi_status (*before_spawn)(void *data, char **command, char **cwd,
                                   struct env *env, struct pi_error *err);
    void *data;
};
