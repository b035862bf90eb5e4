#pragma once

#include "llm/llm.h"

/**
 * The arguments of a call, once they have arrived. Only what loses nothing is repaired:
 * raw control characters in strings, backslashes before letters that JSON does not know,
 * a Markdown fence around the object, an object encoded a second time as a string, and
 * nothing at all for {}. Missing text is never guessed.
 */

/**
 * Appends text as one valid JSON object, ready to be sent. Bytes that were valid stay as
 * they are, so that large numbers keep their digits. PI_INVALID when it is not an object
 * and cannot be repaired (nothing was appended), PI_NOMEM.
 */
enum pi_status arguments_repair(struct buf *out, struct sv text,
                                struct pi_error *err) NODISCARD;

/**
 * All arguments of the call b have arrived: sets b->complete when its text is an object
 * or could be repaired to one (then the text is replaced). Text that cannot be read stays
 * as it came. PI_NOMEM.
 */
enum pi_status arguments_end(struct block *b, struct pi_error *err) NODISCARD;
