#pragma once

#include "app.h"

/** One function a mode. All take a session that was started and return the exit code. */

/** The answer as text on stdout, one line a tool call on stderr. */
int mode_print(struct app *app, const char *prompt);

/** A session header, then the events, one JSON object a line on stdout. */
int mode_json(struct app *app, const char *prompt);

/** `--list-models`: the models that can be asked, as a table or as one event. */
int mode_models(struct app *app);

/** `pi tool NAME JSON`. */
int mode_tool(struct app *app);

/** `pi tool --jsonl`. */
int mode_tool_lines(struct app *app);
