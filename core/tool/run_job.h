#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "tool/run.h"

/**
 * One call of a runner and the threads that work for it, one after the other: the first
 * plans, the second executes. Each ends by posting the job's own note.
 *
 * Owned by the agent thread, `work` and `call` excepted while a thread is under way. A
 * posted note and a thread hold a reference each, so that a thread that outlives its
 * runner reaches nothing that was freed.
 */

enum job_state {
    JOB_NEW,
    JOB_READY,    // arguments are in order; waits to be planned
    JOB_PLANNING, // a thread plans
    JOB_PLANNED,  // waits for its turn
    JOB_ASKED,    // waits for the user
    JOB_ALLOWED,  // may start
    JOB_RUNNING,  // a thread executes
    JOB_ENDED,
};

struct run_note {
    struct run_note *link;
    struct run_job *job; // a reference
    bool update;         // else: the thread is done
    struct sv text;      // update: behind the struct
};

/** What a thread fills; the agent thread takes it after the note. */
struct job_work {
    enum pi_status status;
    struct pi_error error;
    struct tool_plan plan;
    struct tool_result result;
};

struct run_job {
    struct tool_call call;
    struct tool_result result; // the answer, once ended
    struct tool tool;          // a copy; its parameters are not used
    enum job_state state;
    struct run *run;       // NULL once the runner is gone
    struct cancel *parent; // ends the call; a reference
    struct buf text;       // the arguments as they came
    bool complete;         // they came whole
    bool repaired;         // U+FFFD stands for characters that came broken
    bool done;             // the thread's note has come
    bool refused;          // by the user
    char *reason;          // the user's words, or NULL
    int64_t planning_since_ms;
    int64_t abort_at_ms;      // -1 = never
    int64_t aborted_since_ms; // -1 = not aborted
    pthread_t thread;
    bool joinable;
    bool orphaned; // a thread was left to itself and may still reach call

    atomic_int refs;
    atomic_bool posted; // the thread has nothing left to do
    char *id, *name, *cwd;
    struct tool_context context;
    struct run_port port;
    struct job_work work;
    struct run_note note;
};

/** A copy of the request with one reference; NULL without memory. */
struct run_job *job_create(const struct run_request *request,
                           const struct tool_context *context,
                           const struct run_port *port);
void job_unref(struct run_job *j);

/**
 * Fills call.args from the text: {} when it cannot be read, NULL only when memory ran out
 * twice.
 */
enum pi_status job_parse(struct run_job *j, struct pi_error *err);

/**
 * Parses, finds the tool and makes the arguments ready for it; on failure false and why,
 * for the model.
 */
bool job_admit(struct run_job *j, const struct registry *registry, struct buf *why);

/**
 * Starts the thread that plans or executes. PI_BUSY: the system has no thread to spare
 * right now.
 */
enum pi_status job_plan(struct run_job *j, struct pi_error *err);
enum pi_status job_execute(struct run_job *j, struct pi_error *err);

/** Waits until the thread is gone; to be called when its note has come. */
void job_join(struct run_job *j);

/** As job_join, but leaves the thread to itself when it works beyond the deadline. */
void job_join_until(struct run_job *j, int64_t deadline_ms);

/** Leaves the thread to itself. */
void job_orphan(struct run_job *j);
