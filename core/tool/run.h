#pragma once

#include "tool/registry.h"

/**
 * Runs calls: scheduling, abort, progress, results. Owned by the agent thread; each call
 * runs on a thread of its own that only posts notes. The agent thread gives the notes
 * back to run_take.
 *
 * Scheduling: reads run side by side; changes of different files side by side, of one
 * file in call order; commands and sequential tools are barriers (unless barriers are
 * off). A thread that is still in the kernel 200 ms after abort is orphaned: the call is
 * answered, the thread keeps its own references.
 */
struct run;
struct run_note;

/** One call for the runner; strings are copied, args_text parsed by it. */
struct run_request {
    const char *id;
    const char *name;
    struct sv arguments;    // JSON text as it arrived
    bool complete;          // arrived whole; else the call is answered with an error
    const char *cwd;        // NULL = the context's
    int64_t abort_after_ms; // < 0 never
    struct cancel *cancel;  // ends this call; NULL = the runner's token
};

enum run_verdict { RUN_ALLOW, RUN_DENY, RUN_ASK };

/** What the agent fills in. All but post are called on the agent thread, from run_*(). */
struct run_port {
    void *data;
    /** From any thread, never blocks: hand the note to the agent thread (run_take). */
    void (*post)(void *data, struct run_note *note);
    /**
     * A thread of a call begins (agent thread) and ends (that thread): what it can reach,
     * the context above all, must live in between, even after run_destroy.
     */
    void (*hold)(void *data);
    void (*let_go)(void *data);
    /**
     * After validation, before planning; may change args (the call's own). RUN_DENY
     * blocks the call with the reason in *err. NULL = allow.
     */
    enum run_verdict (*before)(void *data, const struct tool_call *call,
                               struct json *args, struct pi_error *err);
    /** May this call run? RUN_DENY puts the reason for the model into *err. */
    enum run_verdict (*judge)(void *data, const struct tool_call *call,
                              struct pi_error *err);
    /** The call waits for an answer (run_answer); ask_end: it died unanswered. */
    void (*ask)(void *data, const struct tool_call *call);
    void (*ask_end)(void *data, const struct tool_call *call);
    /** The call starts running; its last word before an update or the end. */
    void (*started)(void *data, const struct tool_call *call);
    void (*updated)(void *data, const struct tool_call *call, struct sv text);
    /** The call is over. The result may be changed (hooks); it stays with the runner. */
    void (*ended)(void *data, const struct tool_call *call, struct tool_result *result);
};

enum pi_status run_create(struct run **out, const struct registry *registry,
                          const struct tool_context *context, const struct run_port *port,
                          struct cancel *cancel, bool barriers,
                          struct pi_error *err) NODISCARD;

/** Adds a call; it is planned and started by run_step. PI_NOMEM. */
enum pi_status run_add(struct run *r, const struct run_request *request,
                       struct pi_error *err) NODISCARD;

/**
 * Starts what may start, ends what is over. PI_OK: all calls have their result. PI_MORE:
 * come again after a note or after *wait_ms (-1 = no time limit).
 */
enum pi_status run_step(struct run *r, int *wait_ms);

/** Takes a posted note back in. */
void run_take(struct run *r, struct run_note *note);

/** Frees a note that comes after its runner is gone. */
void run_note_drop(struct run_note *note);

/** Place for the link of whoever holds the note meanwhile. */
struct run_note **run_note_link(struct run_note *note);

/** The runner a note belongs to; NULL when it is gone. */
struct run *run_note_owner(const struct run_note *note);

/**
 * The user's answer for a call that was asked about; run_step then starts or refuses it.
 * Unknown ids do nothing. reason may be NULL. May be called from ask().
 */
void run_answer(struct run *r, const char *call_id, bool allow, const char *reason);

/** Results in the order of the calls, when run_step said PI_OK. */
size_t run_len(const struct run *r);
const struct tool_call *run_call(const struct run *r, size_t i);
struct tool_result *run_result(struct run *r, size_t i);

/** Forgets finished calls at the front, for a runner that lives long. */
void run_prune(struct run *r);

/**
 * Cancels what runs, waits for its threads (200 ms at most for those at a file, 600 ms
 * for commands, all at the same time), frees. Open questions are withdrawn; no other
 * function of the port is called. Accepts NULL.
 */
void run_destroy(struct run *r);
