#pragma once

#include "base/buf.h"
#include "base/json.h"

/**
 * Appends a call's one-line title: the template of the definition ("{path}") with the
 * arguments' texts in their places, line breaks as blanks, cut to 200 bytes at a
 * character boundary. Without a template the first text argument serves.
 */
void tool_title(struct buf *out, const char *title_template, const struct json *args);
