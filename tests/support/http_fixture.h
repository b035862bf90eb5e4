#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * A server of bytes for tests: it listens on a port of 127.0.0.1 and answers each request
 * with the next reply of a list, byte for byte as the test wrote it. It knows no more of
 * HTTP than where a request ends.
 */

enum fixture_end {
    FIXTURE_KEEP,  // wait for the next request of the connection
    FIXTURE_CLOSE, // FIN
    FIXTURE_RESET, // RST
    FIXTURE_STALL, // silence until the client closes
};

struct fixture_reply {
    struct sv bytes;     // borrowed until other replies are set
    unsigned before_ms;  // silence first
    size_t split;        // bytes of one write; 0 = all
    unsigned between_us; // pause between writes
    enum fixture_end end;
    struct sv again; // written again and again until the client closes
    bool no_reading; // reply without reading a request
};

enum { FIXTURE_REPLIES = 8 };

struct fixture;

struct fixture *fixture_start(void);

/** Ends the connections and the threads. */
void fixture_stop(struct fixture *f);

unsigned fixture_port(const struct fixture *f);

/**
 * The list of replies, at most FIXTURE_REPLIES; the last one is repeated. Copied, except
 * for the bytes. Waits until nothing is being sent of the list before, so that its bytes
 * may go.
 */
void fixture_replies(struct fixture *f, const struct fixture_reply *replies, size_t n);

/** Since the last fixture_replies. */
size_t fixture_requests(struct fixture *f);
size_t fixture_connections(struct fixture *f);

/** Copies the last request, head and body. */
void fixture_last_request(struct fixture *f, struct buf *out);
