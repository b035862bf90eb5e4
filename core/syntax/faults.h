#pragma once

#include <stddef.h>
#include <stdint.h>

#include "syntax/parse.h"

/** Inside of core/syntax: where a text breaks the rules of its language. */

enum fault_kind {
    FAULT_ERROR,    // the parser had to skip something
    FAULT_WHOLE,    // it could make nothing of the whole text
    FAULT_MISSING,  // the parser had to add something
    FAULT_UNCLOSED, // a bracket
    FAULT_UNOPENED, // a bracket
    FAULT_NO_BLOCK, // a line that needs an indented block below it
    FAULT_INDENT,   // a line whose indentation fits no other
};

struct fault {
    enum fault_kind kind;
    uint32_t offset; // of the byte
    uint32_t row;    // from 0
    uint32_t last_row;
    char token[24]; // what is missing, or the bracket; "" when that says nothing
};

/** A zeroed struct is empty. Ascending by offset. */
struct faults {
    struct fault *items;
    size_t len, cap;
    bool failed; // memory ran out: some are missing
};

void faults_finish(struct faults *f);

/**
 * Finds the faults of a tree. Where brackets do not match, only they are told, since what
 * follows from that is all over the text; of an unclosed one the place is guessed by
 * indentation, for the parser misses it at the end of the text only. In C and C++ what
 * macros may explain is no fault.
 */
void faults_find(struct faults *out, TSNode root, struct sv text, const char *language);

/**
 * The parts of faults_find; c = there are #if and #else. faults_c_balanced looks at a
 * text in C without the parser, which confuses strings with what is around them behind an
 * error.
 */
void faults_brackets(struct faults *out, TSNode root, struct sv text, bool c);
bool faults_c_balanced(struct sv text);

/**
 * Follows a line of the preprocessor; directive: what stands behind its "#". *skipped:
 * how many #if are open in a branch that does not count; of the branches of one the first
 * counts.
 */
void faults_c_branch(unsigned *skipped, struct sv directive);

void faults_indentation(struct faults *out, TSNode root, struct sv text);
void faults_add(struct faults *out, enum fault_kind kind, TSNode node, const char *token);

/** Whether what cannot be parsed there is known to be valid, only not to the grammar. */
bool faults_newer(struct sv text, uint32_t offset, const char *language);

/** The line that holds the byte at offset, without its end. */
struct sv faults_line(struct sv text, uint32_t offset);

/** The number of blanks at its start, and whether only they stand before offset. */
size_t faults_indent(struct sv text, uint32_t offset, bool *first);
