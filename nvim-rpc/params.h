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
    PARAM_LIST,   // const char *const *, texts with a NULL behind them
};

struct param {
    const char *name;
    enum param_kind kind;
    size_t offset;
    size_t len_offset;
};

/** Owns the texts that were read. */
struct param_texts {
    void *items[24];
    size_t len;
};

void param_texts_finish(struct param_texts *t);

/**
 * What every method takes besides its own parameters; 0 when it is not given. seq: a
 * notification with one is answered by an item of a batch. connection: the number that
 * Neovim knows this channel by.
 */
struct param_envelope {
    uint64_t seq, connection;
};

/** Finds the envelope in the parameters of a message, whatever they are. */
struct param_envelope params_envelope(const msgpack_object *params);

/**
 * Fills the struct at `into`; it borrows from texts. PI_INVALID names a parameter that
 * the table (which ends with name NULL) has not, or of the wrong type.
 */
enum pi_status params_read(const msgpack_object *map, const struct param *table,
                           void *into, struct param_texts *texts, struct pi_error *err);
