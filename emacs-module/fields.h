#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <emacs-module.h>

#include "base/buf.h"

/**
 * A Lisp vector of keywords and values, [:name VALUE ...], read into a C struct by a
 * table. What is nil stays as it is.
 */

enum field_kind {
    FIELD_TEXT,   // const char * at offset and, unless len_offset is 0, a size_t
    FIELD_TEXTS,  // a vector of strings: const char *const *, NULL-terminated
    FIELD_FLAG,   // bool
    FIELD_NUMBER, // uint64_t
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    size_t len_offset;
};

/** Owns the texts that were read. A zeroed struct is empty. */
struct field_texts {
    char **items;
    const char ***lists;
    size_t len, lists_len;
};

void field_texts_finish(struct field_texts *t);

/**
 * Fills the struct at `into`; it borrows from texts. False with a signal in env: wrong
 * type, no memory, or a keyword that the table (which ends with name NULL) has not.
 */
bool fields_read(emacs_env *env, emacs_value vector, const struct field *table,
                 void *into, struct field_texts *texts);
