#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * Follows JSON text byte by byte without building anything: tells text that is no JSON
 * from the beginning of JSON, and where it could be closed. Lenient inside strings and
 * numbers; json_parse has the last word. A zeroed struct is the start.
 */
enum { JSON_PREFIX_DEPTH = 512 };

struct json_prefix {
    unsigned char state;
    bool bad;              // a byte did not fit; nothing is taken any more
    bool key;              // the open string is a member's name
    unsigned char hex;     // digits of a \u escape that are still to come
    unsigned char word_at; // position in word
    const char *word;      // the open literal
    char last;             // last byte of the open number
    size_t offset;         // bytes taken; of the first bad byte when bad
    size_t safe;           // up to here the text can be closed by brackets alone
    size_t edge;           // the open string's end outside of escapes
    unsigned depth;
    uint64_t objects[JSON_PREFIX_DEPTH / 64]; // bit: the level is an object
};

/** Takes the next bytes; false when one did not fit. Any split gives the same result. */
bool json_prefix_feed(struct json_prefix *s, struct sv bytes);

/** Whether what was taken is one whole value. */
bool json_prefix_complete(const struct json_prefix *s);

/**
 * Appends text (all that was fed, from its start) closed to whole JSON: an open string
 * ends where it is, a member without a value is left out. Appends nothing when no value
 * has begun.
 */
void json_prefix_close(const struct json_prefix *s, struct sv text, struct buf *out);

/**
 * Appends text with what models get wrong inside strings put right: raw control
 * characters are escaped, the backslash of an escape that JSON does not know is doubled.
 */
void json_prefix_repair(struct buf *out, struct sv text);
