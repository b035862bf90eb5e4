#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "file_type.h"
#include "host/host.h"
#include "line_window.h"

/**
 * What the read tool says: the lines, and below them in square brackets what the model
 * must know to go on.
 */
struct read_text {
    const struct host_target *target;
    const struct line_window *window; // complete
    struct file_type type;
    struct host_origin origin;
    struct file_stamp stamp; // of a file on disk
    bool limited;            // the window's max_lines was asked for
    struct sv outline;       // rows (syntax/outline.h), "" = none is shown
    size_t left_out;         // of its rows
    bool outline_only;       // instead of the text
    const char *no_outline;  // why there is none that was asked for, or NULL
};

/** Whether the caps and not the caller ended the window before the text. */
bool read_text_is_cut(const struct read_text *t);

/**
 * Appends the text. *details gets the record of the truncation when there was one.
 * PI_INVALID: the window begins behind the end of the file. PI_NOMEM.
 */
enum pi_status read_text_write(struct buf *out, struct json **details,
                               const struct read_text *t, struct pi_error *err) NODISCARD;

/** Appends what the file is, how large, and how to look inside. */
enum pi_status read_text_binary(struct buf *out, const struct read_text *t,
                                struct pi_error *err) NODISCARD;
