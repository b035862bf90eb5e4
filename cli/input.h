#pragma once

#include "args.h"
#include "base/buf.h"
#include "base/error.h"
#include "pi_tools.h"
#include "sys/env.h"

/** More than this from stdin or a file is refused: no model could take it in. */
enum { INPUT_MAX = 8 * 1024 * 1024, INPUT_ARGUMENTS_MAX = 256 * 1024 * 1024 };

/** What the user gives before the run. A zeroed struct is empty. */
struct input {
    struct buf prompt; // "" when there is none
    struct buf notes;  // remarks for the user, one a line
    struct pi_fit_image *images;
    size_t images_len, images_cap;
};

void input_finish(struct input *in);

/**
 * Puts the prompt together: what comes from stdin when it is no terminal, the @files,
 * the words; blank lines between them. Blocks until stdin ends.
 */
enum pi_status input_read(struct input *in, const struct args *args, const char *cwd,
                          const struct env *env, struct pi_error *err) NODISCARD;

/** Reads one line that the user types on the terminal stdin. */
enum pi_status input_ask_line(struct buf *out, struct pi_error *err) NODISCARD;

/** Reads all of stdin, as it is. */
enum pi_status input_read_stdin(struct buf *out, size_t max,
                                struct pi_error *err) NODISCARD;
