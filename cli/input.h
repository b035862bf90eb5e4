#pragma once

#include "args.h"
#include "base/buf.h"
#include "base/error.h"
#include "sys/env.h"

/** More than this from stdin or a file is refused: no model could take it in. */
enum { INPUT_MAX = 8 * 1024 * 1024, INPUT_ARGUMENTS_MAX = 256 * 1024 * 1024 };

/**
 * Puts the prompt together: what comes from stdin when it is no terminal, the @files,
 * the words; blank lines between them. "" when there is nothing. Remarks for the user go
 * to notes, one a line. Blocks until stdin ends.
 */
enum pi_status input_read(struct buf *out, struct buf *notes, const struct args *args,
                          const char *cwd, const struct env *env,
                          struct pi_error *err) NODISCARD;

/** Reads one line that the user types on the terminal stdin. */
enum pi_status input_ask_line(struct buf *out, struct pi_error *err) NODISCARD;

/** Reads all of stdin, as it is. */
enum pi_status input_read_stdin(struct buf *out, size_t max,
                                struct pi_error *err) NODISCARD;
