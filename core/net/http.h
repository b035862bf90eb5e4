#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"
#include "sys/env.h"

/**
 * HTTP for one thread: a pool of connections (one curl multi handle) that is also that
 * thread's event loop. Nothing here blocks but http_wait. The only file that knows curl
 * is http.c.
 */
struct http;

/** How to reach the world; strings are copied. A zeroed struct: directly, with the CA
 * certificates of the system. */
struct http_options {
    const char *https_proxy; // for https URLs; NULL = none. Loopback is never proxied
    const char *http_proxy;  // for http URLs
    const char *no_proxy;    // hosts to reach without a proxy, as in NO_PROXY
    const char *ca_file;     // NULL = the system's
};

/** What the environment says: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (also in small
 * letters, which count first), SSL_CERT_FILE, CURL_CA_BUNDLE. Borrows from e. */
struct http_options http_options_of(const struct env *e);

enum pi_status http_create(struct http **out, const struct http_options *options,
                           struct pi_error *err) NODISCARD;

/** Calls must be closed before. Accepts NULL. */
void http_destroy(struct http *h);

/**
 * Waits at most timeout_ms (< 0 = for ever) for the network or for fd (< 0 = none), and
 * moves bytes. May return early with nothing to read. Not more than some 256 KiB of a
 * call's body wait to be read; its server then has to wait, too.
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

/**
 * Starts a transfer. Redirects are not followed. PI_INVALID: a bad URL, or a control
 * character in a header (the message names the header, never its value); PI_NOMEM.
 */
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
