#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * JSON trees. The library behind it (cJSON) is seen by json.c alone.
 *
 * Ownership: json_parse and json_new_* return a tree that the caller owns and frees with
 * json_destroy. json_set and json_push hand a subtree over to its parent, also when they
 * fail (then it is freed). Everything that json_get, json_first and json_str return is
 * borrowed from the tree. Strings are UTF-8 without NUL. Not thread-safe; a tree may move
 * between threads.
 */
struct json;

/** What json_parse had to repair; bits. */
enum json_repair {
    JSON_HAD_NUL = 1,       // \u0000 in a string, now U+FFFD
    JSON_HAD_SURROGATE = 2, // half of a surrogate pair, now U+FFFD
    JSON_HAD_BAD_UTF8 = 4,  // bytes that are not UTF-8, now U+FFFD
};

enum json_type {
    JSON_NONE, // NULL pointer
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/**
 * Parses exactly one JSON value; anything but white space after it is an error. Strings
 * are repaired first (enum json_repair); the bits go to *repairs, which may be NULL.
 * Nesting beyond 512 levels is an error. The error text names the byte offset.
 */
enum pi_status json_parse(struct json **out, struct sv text, unsigned *repairs,
                          struct pi_error *err) NODISCARD;

/** Frees a tree; accepts NULL. */
void json_destroy(struct json *j);

/** A deep copy, NULL without memory. */
struct json *json_copy(const struct json *j);

/** Appends the compact text (no white space) to b; without memory b has failed. */
void json_write(struct buf *b, const struct json *j);

/** As json_write, indented by two spaces. */
void json_write_pretty(struct buf *b, const struct json *j);

/** Appends text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
 */
void json_write_string(struct buf *b, struct sv text);

enum json_type json_type(const struct json *j);

/** A member of an object, the last one when the key is repeated; NULL when there is none.
 */
struct json *json_get(const struct json *object, const char *key);

/** The string of a node or of a member; NULL when it is not a string. */
const char *json_str(const struct json *j);
const char *json_get_str(const struct json *object, const char *key);

/** The number of a node; fallback when it is not a number. */
double json_num(const struct json *j, double fallback);
double json_get_num(const struct json *object, const char *key, double fallback);
bool json_get_bool(const struct json *object, const char *key, bool fallback);

/** The first child of an array or object; the next sibling; the key of an object's child.
 */
struct json *json_first(const struct json *j);
struct json *json_next(const struct json *child);
const char *json_key(const struct json *child);

/** Number of children. O(n). */
size_t json_len(const struct json *j);

/** New nodes; NULL without memory. json_new_string repairs bytes that are not UTF-8. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_string(struct sv text);
struct json *json_new_int(int64_t value);
struct json *json_new_num(double value);
struct json *json_new_bool(bool value);
struct json *json_new_null(void);

/**
 * Sets (or replaces) a member and takes value over; false without memory or when value is
 * NULL, so that json_set(o, "k", json_new_string(s)) needs one check.
 */
bool json_set(struct json *object, const char *key, struct json *value);
bool json_set_str(struct json *object, const char *key, const char *text);
bool json_set_int(struct json *object, const char *key, int64_t value);
bool json_set_bool(struct json *object, const char *key, bool value);

/** Appends to an array and takes value over; false as with json_set. */
bool json_push(struct json *array, struct json *value);

/** Removes a member; NULL when there was none, else the caller owns it. */
struct json *json_remove(struct json *object, const char *key);
