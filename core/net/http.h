#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"

/**
 * HTTP for one thread: a pool of connections (one curl multi handle) that is also that
 * thread's event loop. Nothing here blocks but http_wait. The only file that knows curl
 * is http.c.
 */
struct http;

/** How to reach the world; strings are copied. Taken from a snapshot of the environment.
 */
struct http_options {
    const char *proxy;    // HTTPS_PROXY / HTTP_PROXY / ALL_PROXY; NULL = none
    const char *no_proxy; // NO_PROXY; loopback is never proxied
    const char *ca_file;  // SSL_CERT_FILE or CURL_CA_BUNDLE; NULL = the system's
};

enum pi_status http_create(struct http **out, const struct http_options *options,
                           struct pi_error *err) NODISCARD;

/** Calls must be closed before. Accepts NULL. */
void http_destroy(struct http *h);

/** Waits at most timeout_ms (< 0 = for ever) for the network or for fd, and moves bytes.
 */
void http_wait(struct http *h, int fd, int timeout_ms);

struct http_request {
    const char *url;            // http or https
    const char *const *headers; // "Name: value", NULL-terminated
    struct sv body;             // POST when p is not NULL, else GET; borrowed until close
    int64_t connect_timeout_ms; // 0 = 30 s
    int64_t idle_timeout_ms;    // without a byte in either direction; 0 = none
    size_t header_max_bytes;    // 0 = 256 KiB
};

/** What went wrong below HTTP, for the retry policy. */
enum http_failure {
    HTTP_FINE,
    HTTP_RETRYABLE, // refused, reset, cut, timed out: another try may work
    HTTP_REUSED,    // a kept connection turned out to be dead: try again at once, not
                    // counted
    HTTP_PERMANENT, // certificate, bad URL, unknown scheme
};

struct http_call;

enum pi_status http_open(struct http_call **out, struct http *h,
                         const struct http_request *request,
                         struct pi_error *err) NODISCARD;

/**
 * Appends the bytes of the body that have arrived. PI_MORE: nothing new, wait. PI_OK:
 * bytes were appended. PI_CLOSED: the body is over and the transfer succeeded. Else the
 * transfer failed: *err says how in words for people (host named, never keys),
 * http_failure() for the policy.
 */
enum pi_status http_read(struct http_call *c, struct buf *out, struct pi_error *err);

/** Status of the response, 0 until the headers have come. */
int http_status(const struct http_call *c);

/** A header of the response by name (any case), NULL when absent; lives as long as the
 * call. */
const char *http_header(struct http_call *c, const char *name);

enum http_failure http_failure(const struct http_call *c);

/** Ends the transfer wherever it is. Accepts NULL. */
void http_close(struct http_call *c);
