#pragma once

#include <stdbool.h>

#include "answer.h"
#include "args.h"
#include "ask.h"
#include "base/buf.h"
#include "mainloop.h"
#include "out.h"
#include "pi_tools.h"
#include "sys/env.h"

/** What all modes need: the agent in its loop, the writers, the terminal for questions.
 */
struct app {
    const struct args *args;
    struct env env;
    char *cwd;
    char *restrict_dir;                // absolute, NULL = none
    const struct pi_fit_image *images; // of the prompt, borrowed
    size_t images_len;
    char *session; // file to go on with, NULL = none
    struct mainloop loop;
    struct out out; // stdout
    struct out err; // stderr
    struct ask ask;
    struct answer answer;
};

/** Finds the environment and the working directory. Starts nothing. */
enum pi_status app_init(struct app *app, const struct args *args,
                        struct pi_error *err) NODISCARD;

/** Finds the session that the user wants to go on with; EXIT_OK or after a message. */
int app_find_session(struct app *app) NODISCARD;

/**
 * Takes over the signals and starts the agent; after all input of the user was read.
 * Returns EXIT_OK, or another exit code after a message on stderr.
 */
int app_start(struct app *app) NODISCARD;

/**
 * Sends the prompt and serves the loop until the run is over; on_event and data of
 * app->loop are set by the mode. Returns the exit code.
 */
int app_prompt(struct app *app, const char *prompt);

/** An event that concerns all modes: the answer and its end, questions. */
void app_take(struct app *app, const pi_event *event);

/** Leaves the loop with the exit code of the answer, after it was written. */
void app_leave(struct app *app);

/** Prints a notice of the agent on stderr; other events do nothing. */
void app_notice(const pi_event *event);

/** Ends the agent and its commands. */
void app_finish(struct app *app);

/** Prints "pi: message" on stderr and returns EXIT_FAILED. */
int app_fail(const struct pi_error *err);
