#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sv.h"

/**
 * Regular expressions (PCRE2, compiled where the machine allows it). The only file that
 * knows the library is regex.c. A compiled expression is constant and may be shared by
 * threads; each thread searches with a matcher of its own.
 */
struct regex;
struct regex_matcher;

enum regex_flags {
    REGEX_LITERAL = 1,
    REGEX_IGNORE_CASE = 2, // Unicode
};

/**
 * Compiles a pattern for searching line by line: "^" and "$" are the line's ends, Unicode
 * classes, bytes that are not UTF-8 match nothing. PI_INVALID: *err says what is wrong
 * and at which character; PI_NOMEM.
 */
enum pi_status regex_create(struct regex **out, struct sv pattern, unsigned flags,
                            struct pi_error *err) NODISCARD;
void regex_destroy(struct regex *r); // accepts NULL

enum pi_status regex_matcher_create(struct regex_matcher **out, const struct regex *r,
                                    struct pi_error *err) NODISCARD;
void regex_matcher_destroy(struct regex_matcher *m); // accepts NULL

struct regex_match {
    size_t start, end; // bytes of the text
};

/**
 * Looks for the first match at or after byte `from`. PI_OK: *match. PI_NOT_FOUND: none.
 * PI_LIMIT: the pattern is too complex for this text, which is not the same as no match.
 */
enum pi_status regex_search(struct regex_matcher *m, struct sv text, size_t from,
                            struct regex_match *match, struct pi_error *err) NODISCARD;
