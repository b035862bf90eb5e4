#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "pi.h"

/**
 * The program's poll(2) loop: the agent's door bell, signals, one input, a clock.
 *
 * SIGINT aborts the run, a second one leaves; SIGTERM and SIGHUP leave at once. Leaving
 * means that mainloop_run returns the exit code; mainloop_finish then destroys the agent,
 * which ends its commands.
 */
struct mainloop {
    pi_agent *agent;
    int wake_fd, signal_fd; // 0 until mainloop_init
    int exit_code;          // < 0: go on
    int interrupts;         // SIGINTs so far

    // Filled in by the mode before mainloop_run; input_fd < 0 = none for now.
    void *data;
    void (*on_event)(void *data, const pi_event *event);
    void (*on_interrupt)(void *data); // the first SIGINT; may be NULL
    int input_fd;
    void (*on_input)(void *input_data);
    void *input_data;
    int (*on_tick)(void *data); // before each wait; ms until the next, -1 = none; or NULL
    bool watch_stdout;          // leave when the reader of stdout goes away
};

/** Takes over the signals of this process. Before any thread is started. */
enum pi_status mainloop_init(struct mainloop *l, struct pi_error *err) NODISCARD;

/** Creates the agent with these options and its wake() set to this loop. */
enum pi_status mainloop_start(struct mainloop *l, const struct pi_agent_options *options,
                              struct pi_error *err) NODISCARD;

/** Serves until mainloop_leave; returns the exit code. */
int mainloop_run(struct mainloop *l);

/** Makes mainloop_run return; the first code counts. */
void mainloop_leave(struct mainloop *l, int exit_code);

/** Waits until fd takes bytes, serving signals meanwhile; false when leaving. */
bool mainloop_wait_writable(struct mainloop *l, int fd);

void mainloop_finish(struct mainloop *l);
