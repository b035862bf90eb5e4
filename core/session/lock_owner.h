#pragma once

#include <sys/stat.h>

/**
 * The process that holds a flock(2) on a file, as the kernel's list of locks tells it; 0
 * when it does not, for instance for a holder on another machine.
 */
long lock_owner(const struct stat *file);
