#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <msgpack.h>

#include "pi.h"

/**
 * The parameters of a method, one flat map, read into a C struct by a table. What is
 * missing or nil stays as it is.
 */

enum param_kind {
    PARAM_TEXT,   // const char * at offset and, unless len_offset is 0, a size_t
    PARAM_FLAG,   // bool
    PARAM_NUMBER, // uint64_t
};

struct param {
    const char *name;
    enum param_kind kind;
    size_t offset;
    size_t len_offset;
};

/** Owns the texts that were read. */
struct param_texts {
    char *items[16];
    size_t len;
};

void param_texts_finish(struct param_texts *t);

/**
 * Fills the struct at `into`; it borrows from texts. PI_INVALID names a parameter that
 * the table (which ends with name NULL) has not, or of the wrong type.
 */
enum pi_status params_read(const msgpack_object *map, const struct param *table,
                           void *into, struct param_texts *texts, struct pi_error *err);
