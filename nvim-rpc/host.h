#pragma once

#include "pi.h"

/** The host of the agent: requests for buffers become items of the next batch; Lua serves
 * them and answers with answer_host. host_data is the struct server. */
extern const struct pi_host host_of_neovim;

/** The status that Lua names in an answer; PI_IO when it is not known. */
enum pi_status host_status(const char *name);
