#pragma once

#include "agent/settings.h"
#include "pi.h"

/** The folder where new sessions of the options' cwd go. Caller frees. */
enum pi_status sessions_dir(char **out, const struct settings *settings,
                            const struct pi_agent_options *o,
                            struct pi_error *err) NODISCARD;
