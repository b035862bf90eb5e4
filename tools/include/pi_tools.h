#pragma once

#include <stddef.h>

#include "pi.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The default tools, for pi_agent_options.definitions. Static. */
PI_API const struct pi_tool_definition *const *pi_tools_builtin(size_t *len);

#ifdef __cplusplus
}
#endif
