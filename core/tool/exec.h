#pragma once

#include "sys/process.h"

/**
 * How bash runs a command; pluggable, so that a face or a test can run it elsewhere.
 */
struct exec_ops {
    /** As process_run(), which is the default. */
    enum pi_status (*run)(const struct process_request *request,
                          const struct process_sink *sink, struct cancel *cancel,
                          struct process_result *result, struct pi_error *err);
};

/**
 * May change command, cwd (both from malloc) and environment of a command before it runs.
 */
struct exec_hook {
    enum pi_status (*before_spawn)(void *data, char **command, char **cwd,
                                   struct env *env, struct pi_error *err);
    void *data;
};
