#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/event.h"
#include "agent/review.h"
#include "host/call.h"
#include "sys/cancel.h"
#include "tool/run.h"

/**
 * The one place where threads meet: commands and notes go in to the agent thread, events
 * and host calls go out to the face. Every function is thread-safe and holds the lock for
 * a few assignments only, never over a call that can block.
 */

enum command_type {
    COMMAND_PROMPT, // text, images; starts a run
    COMMAND_STEER,  // text, images; queued
    COMMAND_FOLLOW_UP,
    COMMAND_CONTINUE,
    COMMAND_SET_TOOLS,  // text
    COMMAND_QUEUE_MODE, // delivery, flag
    COMMAND_CLEAR_QUEUE,
    COMMAND_SET_NAME,  // text: of the session
    COMMAND_CALL_TOOL, // id, name, text = arguments, cwd, number = abort_after_ms, cancel
    COMMAND_ANSWER,    // id, number = enum pi_permission, text = reason
    COMMAND_SET_MODEL, // id = provider, name = model; NULL = any
    COMMAND_SET_THINKING,  // number = enum thinking_level
    COMMAND_LIST_MODELS,   // text = query
    COMMAND_ADD_TOOL,      // added
    COMMAND_REMOVE_TOOL,   // text = name
    COMMAND_NOTE,          // text
    COMMAND_LIST_MESSAGES, // number = how many at most, 0 = all
    COMMAND_REVIEW,        // review: a change waits for the user
    COMMAND_REVIEW_END,    // review: nobody waits any more
    COMMAND_LATE_ANSWER,   // call: an editor answered after its waiter had left
    COMMAND_STOP,
};

/** A command for the agent thread. Owned by the mailbox, then by the agent thread. */
struct command {
    struct command *next;
    enum command_type type;
    struct message *message;
    enum pi_delivery delivery;
    bool flag;
    int64_t number;
    char *id, *name, *cwd;
    struct buf text;
    struct host_call *call;
    struct cancel *cancel;
    struct review *review;
    const struct pi_tool_definition *added; // lives as long as the agent
};

struct command *command_create(enum command_type type);
void command_destroy(struct command *c); // accepts NULL

struct mailbox {
    pthread_mutex_t lock;
    int bell; // eventfd: the agent thread's door bell

    // In.
    struct command *commands, **commands_end;
    struct run_note *notes, **notes_end;

    // Out.
    struct pi_event *events, *last_event, **events_end;
    struct host_call *queued, **queued_end; // host calls the face has not seen
    struct host_call *taken;                // host calls the face has not answered
    uint64_t *withdrawn;                    // ids the face should forget
    size_t withdrawn_len, withdrawn_cap;
    uint64_t next_id;
    bool face_busy; // woken, and not yet told that all is empty
    bool closed;
    bool lost; // an event was lost for want of memory

    // The run under way.
    bool running;
    struct cancel *run_cancel;   // of the run; NULL between runs
    struct cancel *calls_cancel; // of the user's own calls; replaced after an abort

    void (*wake)(void *data);
    void *wake_data;
};

enum pi_status mailbox_init(struct mailbox *m, void (*wake)(void *data), void *wake_data,
                            struct pi_error *err) NODISCARD;

/** Frees what is left inside. No thread may use it any more. */
void mailbox_finish(struct mailbox *m);

/* -- the agent thread's side -- */

/** Queues an event (taken over; NULL = it could not be made) and wakes the face. */
void mailbox_emit(struct mailbox *m, struct pi_event *event);

/** Takes all commands and notes; both lists are linked by next. */
void mailbox_take(struct mailbox *m, struct command **commands, struct run_note **notes);

/** Waits for the bell at most timeout_ms (< 0 = for ever). */
void mailbox_wait(struct mailbox *m, int timeout_ms);

/** Ends the run unless commands have come meanwhile (then false: serve them first). */
bool mailbox_end_run(struct mailbox *m);

/** Fails queued host calls, takes no more. */
void mailbox_close(struct mailbox *m);

/* -- into the agent thread, from any thread -- */

/** Queues a command (taken over, also on failure) and rings. PI_CLOSED. */
enum pi_status mailbox_command(struct mailbox *m, struct command *c,
                               struct pi_error *err);

/** The same for one that starts a run: PI_BUSY while one is under way, unless it is
 * queued then. */
enum pi_status mailbox_start(struct mailbox *m, struct command *c, struct pi_error *err);

void mailbox_note(struct mailbox *m, struct run_note *note);

/** Cancels the run and the user's calls. */
void mailbox_abort(struct mailbox *m, bool urgent);

/** The token of the run under way; a reference for the caller or NULL. */
struct cancel *mailbox_run_cancel(struct mailbox *m);

/** The token of the user's calls, a new one after an abort; a reference for the caller or
 * NULL. */
struct cancel *mailbox_calls_cancel(struct mailbox *m);

/* -- host calls, from tool threads: the functions of a struct host_port -- */

enum pi_status mailbox_host_post(void *mailbox, struct host_call *call);
bool mailbox_host_leave(void *mailbox, struct host_call *call, struct host_hold *hold);
bool mailbox_host_recall(void *mailbox, struct host_call *call);

/* -- the face's side -- */

/** Takes the next host call, NULL = none; a reference for the caller. It now counts as
 * taken. */
struct host_call *mailbox_take_call(struct mailbox *m);

/** Takes the next id to withdraw; false = none. */
bool mailbox_take_withdrawn(struct mailbox *m, uint64_t *id);

/** Takes the next event, NULL = none. */
struct pi_event *mailbox_take_event(struct mailbox *m);

/** Settles a taken call; unknown ids are dropped. */
void mailbox_answer(struct mailbox *m, uint64_t id, const struct pi_host_answer *answer);

/** True when nothing is left for the face; the next arrival wakes it again. */
bool mailbox_rest(struct mailbox *m);
