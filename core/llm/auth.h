#pragma once

#include "base/log.h"
#include "sys/env.h"

/**
 * Keys of model providers. So far: which environment variables hold them, so that they
 * reach neither commands nor logs.
 */

/** Removes every provider's key from e. */
void auth_remove_keys(struct env *e);

/** Tells the log (may be NULL) the keys that e holds, so that it never writes them. */
void auth_redact_keys(const struct env *e, struct log *log);
