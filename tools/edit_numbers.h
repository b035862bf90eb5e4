#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * Line numbers that were copied along from a listing: "12|", "12 |", "12:", "12<TAB>",
 * "  12→" at the front of lines.
 */

/** What the lines of a text look like; an empty text has no lines. */
struct edit_numbers {
    size_t lines, numbered;
    bool counting; // all numbered, with one separator, each one more than the one before
    bool spaced;   // behind all numbers stands a blank or nothing
    bool colon;    // "12:", which is also the look of other texts
    size_t first;  // the first number
};

struct edit_numbers edit_numbers_look(struct sv text);

/** Appends text without its line numbers and, if wanted, the blank behind each. */
void edit_numbers_drop(struct buf *out, struct sv text, bool blank);
