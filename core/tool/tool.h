#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "host/host.h"
#include "llm/llm.h"
#include "sys/cancel.h"
#include "sys/env.h"

/**
 * AgentTool: what the loop needs to run a call. Made from a definition by registry.c.
 */

struct change_review;
struct exec_hook;
struct exec_ops;
struct file_memory;
struct grammars;
struct mutation_ticket;
struct pi_tool_definition;
struct process_jobs;

/** What a call is about to do; the only thing that policy and scheduler look at. */
enum tool_effect {
    TOOL_READ,   // runs beside everything
    TOOL_CHANGE, // changes target; one at a time for a file
    TOOL_EXEC,   // runs `command`; a barrier
    TOOL_OTHER,  // unknown: asks, and is a barrier unless the tool says parallel
};

/** Zeroed = TOOL_READ of nothing. */
struct tool_plan {
    enum tool_effect effect;
    struct host_target target; // READ, CHANGE: when path is not NULL
    char *command;             // EXEC: as it will run
};

void tool_plan_finish(struct tool_plan *p);

/** What a tool may know of the session. Constant while calls run; shared by all threads.
 */
struct tool_context {
    const char *cwd;               // absolute
    const char *home;              // may be NULL
    const struct env *environment; // for commands; the agent's keys are already removed
    struct host *host;
    struct file_memory *memory;
    struct grammars *grammars;          // syntax/grammar.h; NULL = none
    const char *shell_path;             // setting, NULL = /bin/bash
    const char *shell_command_prefix;   // setting, NULL = none
    const char *guard_path;             // pi-guard, NULL = missing
    const struct change_review *review; // NULL = none
    const struct exec_ops *exec;        // NULL = processes of this machine
    const struct exec_hook *exec_hook;  // NULL = none
    struct process_jobs *jobs;          // what commands leave running; NULL = it is ended
    const char *temp_dir;               // for spill logs
    const char *restrict_dir;           // real path, NULL = no restriction
    bool keep_images;                   // setting images.autoResize: as they are
    const char *session_id;             // names this session's files in temp_dir
};

/** A piece of a running call's output, for display only. */
struct tool_update {
    struct sv text; // new text since the last update
};

/** One call while it runs. Borrowed by the tool for the duration of execute. */
struct tool_call {
    const char *id;
    const char *name;
    struct json *args; // repaired, converted, validated
    struct tool_plan plan;
    struct cancel *cancel;
    const struct tool_context *context;
    struct host_hold
        hold; // the place in the mutation queue; host->apply may take it over
    /** Shows progress; any thread; does not block. NULL update text is ignored. */
    void (*progress)(const struct tool_call *call, const struct tool_update *update);
    void *owner; // of the runner
};

/** A change of a file for the file_changed event. Line numbers are 1-based, of the new
 * text. */
struct tool_file_change {
    char *path;
    size_t first_line,
        lines; // first changed line and number of new lines, 0 = whole file
    bool saved, in_editor;
};

/** A zeroed struct is an empty success. */
struct tool_result {
    struct content content;
    struct json *details; // for faces; NULL = none
    bool is_error;
    bool terminate;
    struct tool_file_change *changes; // files that this call changed
    size_t changes_len;
};

void tool_result_finish(struct tool_result *r);

/** Replaces the content by one text block; false without memory. */
bool tool_result_text(struct tool_result *r, struct sv text) NODISCARD;

/** Makes r an error result with this text (err's message); never fails visibly. */
void tool_result_error(struct tool_result *r, const char *message);

/** Records a changed file; false without memory. */
bool tool_result_changed(struct tool_result *r,
                         const struct tool_file_change *change) NODISCARD;

/** How a tool without a plan is scheduled. */
enum tool_mode { TOOL_SEQUENTIAL, TOOL_PARALLEL };

/** Repairs well-known malformations of *args in place, before validation. */
typedef enum pi_status (*tool_prepare_fn)(struct json **args, struct pi_error *err);

/**
 * What the call will do. Changes nothing, but may block in the file system: it runs on
 * the call's thread. Everything it fills belongs to *plan.
 */
typedef enum pi_status (*tool_plan_fn)(struct tool_plan *plan, const struct json *args,
                                       const struct tool_context *context,
                                       struct pi_error *err);

/**
 * Runs the call on a thread of its own. A failure is a result with is_error and a text
 * that tells the model what to do next, or a status with *err, which the runner turns
 * into one.
 */
typedef enum pi_status (*tool_execute_fn)(struct tool_result *result,
                                          struct tool_call *call, struct pi_error *err);

struct tool {
    const char *name;
    const char *description;
    struct json *parameters; // JSON schema, owned
    enum tool_mode mode;
    tool_prepare_fn prepare; // may be NULL
    tool_plan_fn plan;       // NULL = TOOL_OTHER
    tool_execute_fn execute;
    const struct pi_tool_definition *definition;
};
