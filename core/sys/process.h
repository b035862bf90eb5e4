#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/sv.h"
#include "sys/cancel.h"
#include "sys/env.h"

/**
 * Runs a shell command under pi-guard, a small program that stands between the agent and
 * the command (sys/guard.h): it leads no part of the command's session, reports how the
 * shell ended, and ends all descendants when told so or when this process dies.
 *
 * Installs no signal handler and waits for no process but the guard that it started, by
 * pidfd; how the command ended comes over a socket, so an ignored SIGCHLD does no harm.
 *
 * Linux only: subreaper, pidfd, signalfd, memfd.
 *
 * A command that kills the guard (kill -9 $PPID) gets PROCESS_LOST: its process group is
 * killed; what left the group by setsid before that is out of reach.
 */

/**
 * Commands that left processes running. They live until process_jobs_end(), or until this
 * process ends. Thread-safe.
 */
struct process_jobs;

enum pi_status process_jobs_create(struct process_jobs **out,
                                   struct pi_error *err) NODISCARD;

/**
 * Ends what still runs (TERM, 300 ms, KILL) and waits half a second at most for it. From
 * now on a command that leaves processes behind has them ended at once. Accepts NULL.
 */
void process_jobs_end(struct process_jobs *jobs);

/** The same, and frees. Accepts NULL. */
void process_jobs_destroy(struct process_jobs *jobs);

/** Borrowed for the duration of process_run(). */
struct process_request {
    const char *guard_path;        // absolute path of pi-guard
    const char *shell;             // absolute path of the shell
    const char *command;           // what it gets after -c, of any length
    const char *cwd;               // absolute
    const struct env *environment; // the whole environment of the command
    const char *log_path;          // later output of what stays behind; NULL = nowhere
    double timeout_s;              // <= 0: none
    struct process_jobs *jobs;     // NULL: what stays behind is ended with the command
};

/** Where the output goes. Called on the thread of process_run(). */
struct process_sink {
    /**
     * Takes the next bytes of stdout and stderr, which are one pipe. Returns after how
     * many ms it wants to be called with no bytes if none come; < 0: not.
     */
    int (*feed)(void *data, struct sv bytes);
    /**
     * Processes stay behind that can still write. When it returns, log_path holds what
     * belongs there before their output, which is then appended if the file exists. May
     * be NULL.
     */
    void (*handover)(void *data);
    void *data;
};

enum process_end {
    PROCESS_EXITED,
    PROCESS_SIGNALED,
    PROCESS_TIMED_OUT,
    PROCESS_ABORTED,
    PROCESS_LOST, // the command killed its guard; its status is unknown
};

struct process_result {
    enum process_end end;
    int code;             // exit code or signal number
    unsigned left;        // processes that still run
    bool left_may_write;  // they hold the output pipe: it flows into the log
    char left_names[244]; // "PID NAME, PID NAME", cut short when there are many
};

/**
 * Runs the command to its end: the shell has exited and the output pipe is closed or
 * 100 ms have passed; or timeout or cancel (which may be NULL) ended all its processes by
 * TERM, then KILL after 2 s (300 ms when urgent). Blocks. A status other than PI_OK means
 * that the command did not run: PI_NOT_FOUND, PI_DENIED (guard, shell, cwd: named),
 * PI_NOMEM, PI_IO.
 */
enum pi_status process_run(const struct process_request *request,
                           const struct process_sink *sink, struct cancel *cancel,
                           struct process_result *result, struct pi_error *err) NODISCARD;
