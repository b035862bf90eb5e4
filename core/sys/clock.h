#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Milliseconds of a clock that never jumps. */
int64_t clock_mono_ms(void);

/** Milliseconds since 1970 UTC. */
int64_t clock_unix_ms(void);

/** Local date as YYYY-MM-DD. out holds 11 bytes. */
void clock_date(char out[11]);

/** UTC time as 2026-01-31T12:00:00.000Z. out holds 25 bytes. */
void clock_iso(char out[25], int64_t unix_ms);

/** Reads the form that clock_iso writes, with or without milliseconds; false when it is
 * another. */
bool clock_parse_iso(int64_t *unix_ms, const char *text);
