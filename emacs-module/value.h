#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <emacs-module.h>

#include "base/buf.h"
#include "base/sv.h"
#include "pi.h"

/**
 * Lisp values from and to C.
 *
 * Text crosses as unibyte strings of UTF-8: Emacs hands these over byte for byte, while
 * others signal when they hold something that is not Unicode. Lisp encodes and decodes.
 *
 * After a call that signals in Lisp, the functions of env do nothing until the module has
 * returned; so sequences of them need one value_ok() at their end.
 */

/** False when a signal or throw waits to be delivered. */
bool value_ok(emacs_env *env);

/** Appends the bytes of a string to out; signals and returns false for anything else. */
bool value_add_bytes(emacs_env *env, emacs_value string, struct buf *out);

emacs_value value_symbol(emacs_env *env, const char *name);
emacs_value value_nil(emacs_env *env);

/** Whether value is the symbol of this name. */
bool value_is(emacs_env *env, emacs_value value, const char *name);

/** A unibyte string. */
emacs_value value_bytes(emacs_env *env, struct sv bytes);

/** An integer; beyond INTMAX_MAX it wraps, as ids and versions may. */
emacs_value value_number(emacs_env *env, uint64_t number);

emacs_value value_cons(emacs_env *env, emacs_value car, emacs_value cdr);

/** A list. */
emacs_value value_list(emacs_env *env, emacs_value *items, size_t len);

/** Signals the error `pi-error` with the message and the name of the status. */
void value_signal(emacs_env *env, const struct pi_error *err);

/** The same with words of one's own. */
void value_signal_status(emacs_env *env, enum pi_status status, const char *message);
