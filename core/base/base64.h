#pragma once

#include "base/buf.h"
#include "base/sv.h"

/** Appends bytes as base64 with padding, without line ends. */
void base64_add(struct buf *out, struct sv bytes);

/** How many characters base64_add() makes of n bytes. */
size_t base64_size(size_t n);

/** The value of a digit, -1 for what is none; '=' is none. */
int base64_digit(char c);
