#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"
#include "pi.h"

/**
 * A face for tests: dispatches on a thread of its own and keeps the events for the test's
 * main thread to look at. Options are the caller's; wake, host and their data are filled
 * in here.
 */
struct face {
    pi_agent *agent;
    pthread_t thread;
    int wake_fd;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct json **events; // guarded by lock
    size_t len, cap;
    atomic_bool stop;
    unsigned slow_us;        // sleeps that long after each dispatch
    struct pi_budget budget; // of each dispatch; zeroed = no limit
    bool reenter; // calls dispatch from inside a callback, which must be PI_BUSY
    atomic_uint busy_answers; // how often it was
    bool destroy_inside;      // destroys the agent from inside the first callback, after
    atomic_bool all_sent;     // the test said that it will not use the agent any more
    atomic_bool destroyed;
    struct fake_host *host; // NULL = disk only
};

/** What the fake host does with a request. */
enum fake_answer {
    FAKE_OK,
    FAKE_NOT_OPEN,
    FAKE_STALE,
    FAKE_CONFLICT,
    FAKE_IO,
    FAKE_TWICE,
    FAKE_LATE, // after late_us, from the face's thread
    FAKE_NEVER,
};

enum { FAKE_LATE_MAX = 64 };

/** One buffer that stands for every file. Touched by the face's thread only, once
 * started. */
struct fake_host {
    struct buf text;
    uint64_t version;
    enum fake_answer answers[16]; // used in turn
    size_t answers_len, next;
    unsigned late_us;
    char called[256]; // the last tool or command: "name(arguments)"
    atomic_uint requests, applied, withdrawn;
    uint64_t late_ids[FAKE_LATE_MAX];
    enum pi_host_op late_ops[FAKE_LATE_MAX];
    size_t late_len;
};

/** Starts agent and thread; false (with *err) when the agent could not be created. */
bool face_start(struct face *f, struct pi_agent_options *options, struct pi_error *err);

/**
 * Waits until an event of this type has come (count from `from` on) and returns its index
 * + 1; 0 after timeout_ms.
 */
size_t face_wait(struct face *f, const char *type, size_t from, int timeout_ms);

/** The number of events so far; event i (borrowed, constant). */
size_t face_len(struct face *f);
const struct json *face_event(struct face *f, size_t i);

/** Destroys the agent (unless that was done inside) and joins the thread. */
void face_finish(struct face *f);

/** "a,b,c": the types in order, for comparing; deltas of updates once. */
void face_types(struct face *f, struct buf *out);
