#pragma once

#include "base/error.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * Arguments of a call against the tool's JSON schema (subset: type as name or list,
 * properties, required, additionalProperties false, items, enum, minimum, maximum,
 * minItems, anyOf).
 *
 * Conversions (reference behaviour with faults mended): numeric strings to numbers,
 * numbers and booleans to strings, "true"/"false"/1/0 to booleans, a lone value to a
 * one-element array, a string that holds JSON of the wanted array or object to it. null
 * for an optional property means absent, for a required one it is an error.
 */

/**
 * Parses what the model sent. The error tells apart: not JSON (where, what was found),
 * cut off (the text is the beginning of JSON; the call was not run), not an object; and
 * names the tool. NUL in a string is an error that names the argument; lone surrogates
 * and bytes that are not UTF-8 become U+FFFD, which *repaired tells (may be NULL).
 */
enum pi_status validate_parse(struct json **out, bool *repaired, const char *tool,
                              struct sv text, struct pi_error *err) NODISCARD;

/**
 * Converts *args in place (the node may be replaced) and checks them. On failure
 * `problems` gets a text for the model: one line a problem with a dotted path, then what
 * was received (shortened), and PI_INVALID returns.
 */
enum pi_status validate_arguments(struct json **args, const struct json *schema,
                                  const char *tool, struct buf *problems) NODISCARD;
