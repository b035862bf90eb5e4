#pragma once

#include "base/error.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * JSON as people write it into settings: with "//" comments to the end of the line, a
 * comma behind the last element, and a byte order mark at the start.
 */

/**
 * Overwrites comments, such commas and the byte order mark with blanks, in place, so that
 * all other bytes keep their offsets and lines. The result may still not be JSON.
 */
void json_relax(char *text, size_t n);

/**
 * As json_parse for a text that is relaxed first (in a copy). The error names the line
 * and the column (in bytes), both from 1.
 */
enum pi_status json_parse_relaxed(struct json **out, struct sv text, unsigned *repairs,
                                  struct pi_error *err) NODISCARD;
