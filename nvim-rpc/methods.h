#pragma once

#include <msgpack.h>

#include "pack.h"
#include "pi.h"
#include "server.h"

/** What Neovim must say in `hello`; raised when a method or an item changes its meaning.
 */
enum { METHODS_PROTOCOL = 2 };

/**
 * Calls a method by its name with its parameters, an array with one map. May pack one
 * value into result. PI_NOT_FOUND for an unknown method; what the method says.
 */
enum pi_status methods_call(struct server *s, const msgpack_object *method,
                            const msgpack_object *params, struct pack *result,
                            struct pi_error *err);
