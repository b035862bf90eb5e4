#pragma once

#include "base/buf.h"
#include "base/sv.h"
#include "syntax/grammar.h"
#include "sys/cancel.h"

/** What a change did to the syntax of a file. */
struct check_request {
    struct grammars *grammars; // NULL = none
    const char *path;          // tells the language
    struct sv before, after;   // whole texts
    bool is_new;               // there was no file: before is empty
    const struct cancel *cancel;
};

/**
 * Appends a note in square brackets, on a line of its own, about syntax errors of the new
 * text that the old one had not: line, column and text of each. Errors that moved with
 * their lines are old. Appends nothing when there are none and when that cannot be known:
 * no grammar, a text over 2 MiB, one that takes too long, cancelled. Never fails. Runs on
 * any thread.
 */
void check_syntax(struct buf *out, const struct check_request *request);
