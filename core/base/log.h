#pragma once

#include "base/attr.h"
#include "base/error.h"

/**
 * A state log for finding faults: one line per event, with time and thread. Off unless
 * opened. Keys never reach it: every line passes through the redaction of log_redact.
 * Thread-safe; one write per line.
 */
struct log;

/** Opens (appends to, mode 0600) path. */
enum pi_status log_open(struct log **out, const char *path,
                        struct pi_error *err) NODISCARD;

/** Closes; accepts NULL. */
void log_close(struct log *l);

/**
 * A word that must never be written; copied. Values shorter than 8 bytes are ignored.
 * Without memory for it the log goes silent.
 */
void log_redact(struct log *l, const char *secret);

/** Writes one line; does nothing when l is NULL. Line breaks inside are escaped. */
void log_line(struct log *l, const char *format, ...) PRINTF(2, 3);
