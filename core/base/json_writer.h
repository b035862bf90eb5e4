#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/sv.h"

/**
 * Writes JSON text straight into a buffer, without a tree. It puts the commas; that every
 * bracket is closed is for the caller. A key is NULL inside an array.
 */
struct json_writer {
    struct buf *out;
    bool comma; // something stands before the next value of this level
};

void json_write_open(struct json_writer *w, const char *key, char bracket);
void json_write_close(struct json_writer *w, char bracket);

/** Values. A text is repaired as by json_write_string; NULL is an empty one. */
void json_write_text(struct json_writer *w, const char *key, struct sv text);
void json_write_str(struct json_writer *w, const char *key, const char *text);
void json_write_int(struct json_writer *w, const char *key, int64_t value);
void json_write_bool(struct json_writer *w, const char *key, bool value);
void json_write_tree(struct json_writer *w, const char *key, const struct json *value);

/** text is valid JSON and goes in as it is. */
void json_write_raw(struct json_writer *w, const char *key, struct sv text);
