#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "mock_format.h"

/** HTTP/1.1 on one connection, from the server's side. Blocks; ends when stop_fd is
 * readable. */
struct peer {
    int fd;
    int stop_fd;
    struct buf in; // bytes that were not used yet
    size_t sent;   // bytes of the body that went out
    bool gone;     // the client closed, or we are to stop
};

void peer_finish(struct peer *p); // closes

/** A request; strings and trees are owned by it. A zeroed struct is empty. */
struct http_message {
    char *method, *target;
    struct json *headers; // names in lower case
    struct buf body;
};

void http_message_finish(struct http_message *m);

/** False when the client has closed or says nothing that is HTTP. */
bool peer_read_request(struct peer *p, struct http_message *out);

/** Sends all bytes; false when the client is gone. */
bool peer_send(struct peer *p, const void *bytes, size_t n);

/** Waits; false when the client closed meanwhile or we are to stop. */
bool peer_wait(struct peer *p, int ms);

/** How an answer travels; what the script says, with the defaults filled in. */
struct transport {
    int status;
    const char *content_type;
    const struct json *turn; // headers, delays, cuts, ...; may be NULL
    bool gzip;               // the bytes are packed
};

/** Sends head and body; false when the connection is over. */
bool peer_answer(struct peer *p, const struct transport *t, const struct answer *a);
