#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"
#include "syntax/grammar.h"
#include "sys/cancel.h"

enum {
    OUTLINE_MAX_BYTES = 2 * 1024 * 1024, // of a text
    OUTLINE_MAX_ROWS = 100,
};

struct outline_request {
    struct grammars *grammars; // NULL = none
    const char *path;          // tells the language
    struct sv text;            // whole
    const struct cancel *cancel;
};

/**
 * Appends what a text consists of, a row each: "12-80 function main", two blanks deeper
 * inside of another, every row ended by LF. Line numbers count from 1. Of more than
 * OUTLINE_MAX_ROWS the deepest are left out, among them the shortest; *left_out says how
 * many. Returns NULL, or when it appended nothing why: a static clause, for the end of a
 * sentence.
 */
const char *outline_write(struct buf *out, size_t *left_out,
                          const struct outline_request *request);
