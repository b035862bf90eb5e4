#pragma once

#include "grep_file.h"
#include "sys/walk.h"

/**
 * Searches the files of a tree on several threads; rows and counts come together in the
 * order in which the files were added, as if one thread had searched them all. A few
 * files are searched without any further thread.
 */
struct grep_pool;

/** into: gets the results; borrowed until grep_pool_end(), as is err. */
enum pi_status grep_pool_create(struct grep_pool **out, struct grep_file *into,
                                struct pi_error *err) NODISCARD;

/** Adds a file of the walk. False when no more are wanted. */
bool grep_pool_add(struct grep_pool *p, const struct walk_entry *entry);

/** Waits for what was added, unless no more is wanted, and ends the threads. The first
 * failure, in order: PI_ABORTED, PI_NOMEM. Frees the pool; accepts NULL. */
enum pi_status grep_pool_end(struct grep_pool *p);
