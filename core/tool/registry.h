#pragma once

#include "base/buf.h"
#include "tool/definition.h"

/**
 * The tools that exist and those that are active. Owned by the agent thread.
 */
struct registry {
    struct tool *tools; // in order of definition
    size_t len, cap;
    size_t *active; // indexes into tools, in the order asked for
    size_t active_len;
};

/**
 * Wraps the definitions; a later one replaces an earlier one of the same name. PI_INVALID
 * when a schema is not valid JSON.
 */
enum pi_status registry_init(struct registry *r,
                             const struct pi_tool_definition *const *defs, size_t len,
                             struct pi_error *err) NODISCARD;
void registry_finish(struct registry *r);

/**
 * Sets the active tools from a preset (coding = read bash edit write, read-only = read
 * grep find ls, all) or a comma-separated list of names. In a preset, tools that this
 * build does not have are left out, and coding and all end with the tools that were added
 * to the built-in ones; a name of a list that is unknown is PI_INVALID and names what
 * exists. On failure nothing changes.
 */
enum pi_status registry_set_active(struct registry *r, const char *tools,
                                   struct pi_error *err) NODISCARD;

/**
 * Adds a tool, active, or puts it in the place of the one of that name. The definition
 * must live as long as calls of it may run. PI_INVALID, PI_NOMEM.
 */
enum pi_status registry_add(struct registry *r, const struct pi_tool_definition *def,
                            struct pi_error *err) NODISCARD;

/** Takes a tool away; false when there is none. */
bool registry_remove(struct registry *r, const char *name);

/** An active tool by its exact name, NULL when there is none. */
const struct tool *registry_find(const struct registry *r, const char *name);

/** Any tool by name, active or not. */
const struct tool *registry_find_any(const struct registry *r, const char *name);

/** Appends "a, b, c": the names of the active tools. */
void registry_names(const struct registry *r, struct buf *out);
