#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Lets an allocation fail. A test with the line "// wrap: malloc calloc realloc strdup"
 * has these calls of the project's own code pass through here; for a library with
 * allocation hooks there is oom_malloc.
 *
 * Usage: for n = 1, 2, ...: oom_start(n), run the code, oom_stop(); done when that says
 * that nothing failed any more.
 */

/** The n-th allocation from now on fails, and it alone. */
void oom_start(size_t n);

/** Nothing fails from now on. True when something had failed. */
bool oom_stop(void);

void *oom_malloc(size_t size);
