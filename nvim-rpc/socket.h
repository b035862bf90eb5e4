#pragma once

#include "pi.h"

/**
 * Waits at a Unix socket for one Neovim of the same user, and takes the socket's file
 * away again. *fd is non-blocking and owned by the caller. Blocks until then, or until
 * something can be read from `signals`: PI_ABORTED. PI_INVALID (the path is too long),
 * PI_DENIED (another user), PI_IO (also when there is such a file: whether somebody
 * listens at it cannot be found out without taking the place of its Neovim).
 */
enum pi_status socket_await(const char *path, int signals, int *fd, struct pi_error *err);
