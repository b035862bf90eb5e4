#pragma once

#include "args.h"
#include "pi.h"

/**
 * Finds the session that --continue, --resume or --session mean; *path stays NULL for a
 * new one. --resume asks on the terminal. The options tell where to look. Caller frees
 * with pi_free(). Returns EXIT_OK, or another exit code after a message on stderr.
 */
int resume_find(char **path, const struct args *args,
                const struct pi_agent_options *options);
