#pragma once

#include <stdatomic.h>

#include "host/host.h"

/**
 * Host calls marshalled to the face's thread. A call is queued, then taken, then settled;
 * abort, deadline and destroy fail only a queued one. The states change inside the
 * mailbox, under its lock; the waiting tool thread sees it through done_fd.
 */

enum host_call_state { HOST_CALL_QUEUED, HOST_CALL_TAKEN, HOST_CALL_SETTLED };

/** Reference-counted: the waiting thread and the mailbox hold one each. */
struct host_call {
    atomic_int refs;
    struct host_call *next; // for the mailbox's queues
    uint64_t id;            // given by the mailbox

    // The request. Set before posting, constant afterwards.
    enum pi_host_op op;
    char *path;
    uint64_t version;
    struct pi_change *changes;
    size_t changes_len;
    char *bytes;          // behind the texts of changes
    char *tool;           // CALL_TOOL
    struct buf arguments; // CALL_TOOL, BEFORE_COMMAND

    // Guarded by the mailbox.
    enum host_call_state state;
    bool abandoned; // nobody waits any more
    int done_fd;    // eventfd, readable once settled
    struct host_hold hold;

    // The answer: written once when settled, constant afterwards.
    enum pi_status status;
    struct pi_error error;
    struct buf text; // READ, SNAPSHOT, CALL_TOOL; APPLY: when altered
    uint64_t answer_version;
    bool unsaved, saved, altered;
};

/** A new call without changes, with one reference, not posted yet. */
enum pi_status host_call_create(struct host_call **out, enum pi_host_op op,
                                const char *path, struct pi_error *err) NODISCARD;

struct host_call *host_call_ref(struct host_call *c);
void host_call_unref(struct host_call *c);

/**
 * Copies the face's answer into the call; called by the mailbox when it settles one. A
 * text that cannot be copied settles it as PI_NOMEM; a change was made all the same, only
 * how the face altered it is lost.
 */
void host_call_fill(struct host_call *c, const struct pi_host_answer *answer);

/** What the mailbox offers; filled by agent/. All functions are thread-safe and do not
 * block. */
struct host_port {
    void *data;
    /** Queues the call (taking a reference of its own) and wakes the face. PI_CLOSED. */
    enum pi_status (*post)(void *data, struct host_call *call);
    /**
     * The waiter leaves. True: the call was still queued (or settled already) and nothing
     * will come of it any more. False: it was taken; the mailbox keeps it, with hold
     * moved in, and a late answer becomes an event.
     */
    bool (*leave)(void *data, struct host_call *call, struct host_hold *hold);
    /**
     * Takes back a call that is still queued: true, and nothing will come of it. False:
     * it was taken or settled already, and goes on.
     */
    bool (*recall)(void *data, struct host_call *call);
};

/**
 * A host that asks the face first and the disk when the face answers PI_HOST_NOT_OPEN.
 * deadline_ms bounds the time in the queue (PI_TIMEOUT); the face may then take as long
 * as it needs. A change of a text that came from a buffer goes to the buffer only, one of
 * a text from the disk only to the disk. When the cancel token is set, a queued call is
 * taken back; a taken one gets 100 ms to be settled. port must outlive the host.
 */
struct host_face {
    struct host host; // first
    struct host_port port;
    int64_t deadline_ms;
};

void host_face_init(struct host_face *f, const struct host_port *port,
                    int64_t deadline_ms);
