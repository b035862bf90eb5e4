#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "agent/added_tool.h"
#include "agent/context.h"
#include "agent/mailbox.h"
#include "agent/model_choice.h"
#include "agent/policy.h"
#include "agent/queue.h"
#include "agent/settings.h"
#include "base/log.h"
#include "host/call.h"
#include "llm/retry.h"
#include "llm/wire.h"
#include "net/http.h"
#include "pi.h"
#include "session/session.h"
#include "sys/env.h"
#include "tool/memory.h"
#include "tool/run.h"

/**
 * The handle behind pi.h, and what its parts share. Everything below "agent thread" is
 * touched by that thread alone.
 */

/** Called around calls and turns, on the agent thread. All members may be NULL. */
struct agent_hooks {
    void *data;
    /** May change args; RUN_DENY blocks the call with the reason in *err. */
    enum run_verdict (*before_call)(void *data, const struct tool_call *call,
                                    struct json *args, struct pi_error *err);
    /** May change the result. */
    void (*after_call)(void *data, const struct tool_call *call,
                       struct tool_result *result);
    /** True: the run ends after this turn. */
    bool (*stop_after_turn)(void *data);
};

/** A runner's way back to the agent. */
struct call_port {
    struct pi_agent *agent;
    struct run *run;
};

/** A call that waits for the user: before it runs, or before it changes a file. */
struct question {
    struct question *next;
    char id[24];
    struct run *run; // NULL for a review
    const struct tool_call *call;
    struct review *review; // a reference; NULL for a permission
};

struct pi_agent {
    atomic_int refs; // the face, and each thread of a call
    struct mailbox mailbox;
    pthread_t thread;
    bool thread_started;

    // Constant after create.
    char *cwd, *home, *temp_dir, *restrict_dir, *guard_path;
    char *session_id;
    struct session *session; // path and header; the rest is the agent thread's
    struct env environment;
    struct settings settings;
    struct log *log;
    struct registry registry; // belongs to the agent thread
    struct file_memory *memory;
    struct grammars *grammars;
    struct process_jobs *jobs; // what commands left running
    struct host_face host_face;
    struct tool_context tool_context;
    struct change_review review;
    atomic_bool review_first; // changes wait for the user; any thread
    struct agent_hooks hooks;
    const struct pi_host *face_host;
    void *face_host_data;
    bool no_context_files;
    char *custom_prompt;
    char **append_prompts; // NULL-terminated, or NULL

    // Face thread.
    bool dispatching, destroy_wanted;
    struct registry names;    // the tools that the face may name
    struct added_tool *added; // all that ever were: their definitions live that long

    // Agent thread.
    struct choice choice;
    struct model model; // the one that answers, part of choice; id NULL = none yet
    struct http *http;  // NULL until the first request that needs it
    struct context context;
    struct wire_tuning tuning; // of the model
    struct message_queue steering, follow_up;
    struct message_queue start; // messages of the run that is to start
    bool start_wanted;          // a message came, which a run may have taken meanwhile
    bool continue_wanted, stop_wanted;
    struct policy policy;
    struct question *questions;
    unsigned next_question;
    struct call_port turn_port, user_port;
    size_t recorded;      // messages of the transcript that the session has
    bool record_failed;   // and the user was told in this run
    char *wanted_name;    // of the session, not yet recorded
    int user_wait_ms;     // when the user's calls want to be looked at again
    struct buf late_news; // what the model is to be told with the next request

    // Under the mailbox's lock: the prompt as other threads may read it.
    struct buf shared_prompt;
};

/* agent.c */

/** Frees the agent when the last reference goes. Any thread. */
void agent_unref(struct pi_agent *a);

/** A copy of text (NULL stays NULL); *ok becomes false without memory. */
char *agent_copy(const char *text, bool *ok);

/** Replaces the hooks; only before the first prompt. */
void agent_set_hooks(struct pi_agent *a, const struct agent_hooks *hooks);

/* serve.c: on the agent thread, or before it starts */

/** The agent thread. */
void *agent_main(void *data);

/** Waits for mail at most timeout_ms (< 0 = for ever) and serves it. */
void agent_pump(struct pi_agent *a, int timeout_ms);

/** Emits an event; NULL tells the face that one was lost. */
void agent_emit(struct pi_agent *a, struct pi_event *event);

/** Emits a notice; one for each line. */
void agent_notice(struct pi_agent *a, const char *level, const char *text);
void agent_notice_lines(struct pi_agent *a, const struct buf *problems);

/** Tells the face what is queued; dropped (taken over) may be NULL. */
void agent_emit_queue(struct pi_agent *a, struct json *dropped);

/** Builds the system prompt anew, reading its files; appends what could not be used to
 * problems. */
enum pi_status agent_build_prompt(struct pi_agent *a, struct buf *problems,
                                  struct pi_error *err) NODISCARD;

/* calls.c */

/** The port of a runner for struct call_port. */
struct run_port calls_port(struct call_port *port);

/** The user's answer to a question. */
void calls_answer(struct pi_agent *a, const char *id, enum pi_permission answer,
                  const char *reason);

/** A change waits for the user, or no longer does. */
void calls_review(struct pi_agent *a, struct review *review);
void calls_review_end(struct pi_agent *a, const struct review *review);

/** Adds a call of the user; its end is reported in any case. */
void calls_add_user(struct pi_agent *a, const struct command *c);

/** Runs what the user's calls need. */
void calls_step_user(struct pi_agent *a);

/** An editor answered after its waiter had left. */
void calls_late_answer(struct pi_agent *a, const struct host_call *call);

/* record.c: the session */

/**
 * Opens or begins the session that the options want; the working directory is then
 * a->cwd. Blocks.
 */
enum pi_status record_open(struct pi_agent *a, const struct pi_agent_options *o,
                           struct buf *problems, struct pi_error *err) NODISCARD;
enum pi_status record_begin(struct pi_agent *a, const struct pi_agent_options *o,
                            struct pi_error *err) NODISCARD;

/**
 * Writes what the session lacks: name, settings, messages of the transcript. A failure is
 * told once a run; the next call tries again.
 */
void record(struct pi_agent *a);

/** At the end of a turn: makes it durable. */
void record_sync(struct pi_agent *a);

/* loop.c */

/** One run: turn after turn until the model stops. */
void loop_run(struct pi_agent *a);
