#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "sys/cancel.h"
#include "sys/env.h"

/** What a configured value needs to be found. Borrowed. */
struct value_context {
    const struct env *environment;
    const char *guard_path; // NULL: commands cannot run
    const char *cwd;
};

/**
 * Finds what a configured value stands for: "!command" (trimmed output, 10 s), a variable
 * of that name that is set and not empty, or itself. what names the value for messages
 * ("the key of provider \"x\" in models.json"). PI_NOT_FOUND: it looks like a variable
 * that is not set. PI_INVALID: a control character or one outside ASCII. PI_IO,
 * PI_TIMEOUT, PI_ABORTED of the command.
 */
enum pi_status value_find(struct buf *out, const char *value, const char *what,
                          const struct value_context *context, struct cancel *cancel,
                          struct pi_error *err) NODISCARD;

/** Whether text can stand in a header: printable ASCII. PI_INVALID. */
enum pi_status value_check(struct sv text, const char *what, struct pi_error *err);

/** Whether value is not itself the secret: a command, or the name of a variable. */
bool value_is_indirect(const char *value, const struct env *environment);
