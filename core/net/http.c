#include "net/http.h"

#include <curl/curl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/url.h"
#include "sys/clock.h"

enum {
    CONNECT_TIMEOUT_MS = 30 * 1000,
    HEADER_MAX_BYTES = 256 * 1024,
    UNREAD_MAX_BYTES = 256 * 1024, // then the transfer pauses until somebody reads
    HTTP2_PATIENCE = 2,            // broken streams before HTTP/1.1 is asked for
};

struct http {
    CURLM *multi;
    char *https_proxy, *http_proxy, *no_proxy, *ca_file;
    struct http_call *calls; // open ones
    unsigned http2_failures;
};

struct http_call {
    struct http_call *next;
    struct http *http;
    CURL *easy;
    struct curl_slist *headers;
    char *host; // for messages
    struct buf unread;
    size_t header_bytes, header_max;
    bool headers_done;
    bool paused;
    int64_t idle_ms;
    int64_t last_ms; // when bytes moved last
    curl_off_t sent; // of the body, as seen then
    bool over;
    enum http_failure failure;
    struct pi_error error; // set early when a limit of ours ends the transfer
    char words[CURL_ERROR_SIZE];
};

/* -- the pool -- */

static CURLcode global_rc;

static void init_curl(void)
{
    // Never undone: others in this process may use curl, too.
    global_rc = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool copy(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return *out || !text;
}

enum pi_status http_create(struct http **out, const struct http_options *options,
                           struct pi_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    pthread_once(&once, init_curl);
    if (global_rc != CURLE_OK) {
        return error_set(err, PI_UNSUPPORTED, "curl cannot be used: %s",
                         curl_easy_strerror(global_rc));
    }
    struct http *h = calloc(1, sizeof *h);
    if (!h) {
        return error_nomem(err);
    }
    h->multi = curl_multi_init();
    if (!h->multi || !copy(&h->https_proxy, options->https_proxy) ||
        !copy(&h->http_proxy, options->http_proxy) ||
        !copy(&h->no_proxy, options->no_proxy) || !copy(&h->ca_file, options->ca_file)) {
        http_destroy(h);
        return error_nomem(err);
    }
    *out = h;
    return PI_OK;
}

void http_destroy(struct http *h)
{
    if (!h) {
        return;
    }
    curl_multi_cleanup(h->multi);
    free(h->https_proxy);
    free(h->http_proxy);
    free(h->no_proxy);
    free(h->ca_file);
    free(h);
}

/* -- what curl calls -- */

static size_t take_body(char *bytes, size_t size, size_t n, void *data)
{
    struct http_call *c = data;
    if (c->unread.len >= UNREAD_MAX_BYTES) {
        c->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    c->last_ms = clock_mono_ms();
    buf_add(&c->unread, bytes, size * n);
    if (!buf_ok(&c->unread)) {
        error_nomem(&c->error);
        return 0;
    }
    return size * n;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's
static size_t take_header(char *bytes, size_t size, size_t n, void *data)
{
    struct http_call *c = data;
    size_t len = size * n;
    c->last_ms = clock_mono_ms();
    c->header_bytes += len;
    if (c->header_bytes > c->header_max) {
        error_set(&c->error, PI_LIMIT, "%s sent more than %zu KiB of headers", c->host,
                  c->header_max / 1024);
        return 0;
    }
    bool blank = len <= 2 && (len == 0 || bytes[0] == '\r' || bytes[0] == '\n');
    long status = 0;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (blank && status >= 200) { // 1xx announces further headers
        c->headers_done = true;
    }
    return len;
}

static curl_socket_t open_socket(void *data, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    (void)data;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* -- opening -- */

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7F) {
            return true;
        }
    }
    return false;
}

static bool add_header(struct http_call *c, const char *line)
{
    struct curl_slist *grown = curl_slist_append(c->headers, line);
    if (grown) {
        c->headers = grown;
    }
    return grown;
}

static enum pi_status set_headers(struct http_call *c, const struct http_request *request,
                                  struct pi_error *err)
{
    // curl would wait for a "100 Continue" before it sends a large body.
    bool ok = add_header(c, "Expect:");
    for (size_t i = 0; ok && request->headers && request->headers[i]; i++) {
        const char *line = request->headers[i];
        if (has_control(line)) {
            return error_set(err, PI_INVALID,
                             "the value of the header \"%.*s\" has a line break or "
                             "another control character: correct it where it comes from "
                             "(a key, or the configuration of the model)",
                             (int)strcspn(line, ":\r\n"), line);
        }
        ok = add_header(c, line);
    }
    ok = ok && curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers) == CURLE_OK;
    return ok ? PI_OK : error_nomem(err);
}

// An empty string, unlike NULL, keeps curl from asking the environment.
static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool set_way(struct http_call *c, const struct http *h, const struct url *url)
{
    CURL *e = c->easy;
    bool https = url->scheme.n == strlen("https");
    const char *proxy = https ? h->https_proxy : h->http_proxy;
    if (url_reach(url->host) == URL_LOOPBACK) {
        proxy = NULL;
    }
    long version = h->http2_failures < HTTP2_PATIENCE ? CURL_HTTP_VERSION_2TLS
                                                      : CURL_HTTP_VERSION_1_1;
    return curl_easy_setopt(e, CURLOPT_PROXY, or_empty(proxy)) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOPROXY, or_empty(h->no_proxy)) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
           (!h->ca_file || curl_easy_setopt(e, CURLOPT_CAINFO, h->ca_file) == CURLE_OK);
}

static bool set_basics(struct http_call *c, const struct http_request *request)
{
    CURL *e = c->easy;
    long connect_ms = request->connect_timeout_ms > 0 ? (long)request->connect_timeout_ms
                                                      : CONNECT_TIMEOUT_MS;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    // A name that is being looked up must not hold up the end of the transfer.
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
    if (curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK) {
        return false;
    }
#else
    curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->words);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    // Asks for plain bytes, since what is compressed comes in lumps, and still decodes.
    return curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "identity") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT, "pi/" PI_VERSION) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_URL, request->url) == CURLE_OK;
}

static void set_body(CURL *e, struct sv body)
{
    if (body.p) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.p);
    }
}

static enum pi_status check_url(struct url *out, const char *text, struct pi_error *err)
{
    bool ok = url_parse(out, sv_of(text)) &&
              (sv_eqs(out->scheme, "http") || sv_eqs(out->scheme, "https"));
    if (ok) {
        return PI_OK;
    }
    struct buf shown = {0};
    url_show(&shown, sv_of(text));
    error_set(err, PI_INVALID,
              "the address %s cannot be used: it must begin with http:// or https://",
              buf_cstr(&shown));
    buf_finish(&shown);
    return PI_INVALID;
}

static void destroy_call(struct http_call *c)
{
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    buf_finish(&c->unread);
    free(c->host);
    free(c);
}

enum pi_status http_open(struct http_call **out, struct http *h,
                         const struct http_request *request, struct pi_error *err)
{
    struct url url;
    *out = NULL;
    enum pi_status status = check_url(&url, request->url, err);
    if (status) {
        return status;
    }
    struct http_call *c = calloc(1, sizeof *c);
    if (!c) {
        return error_nomem(err);
    }
    c->http = h;
    c->idle_ms = request->idle_timeout_ms;
    c->last_ms = clock_mono_ms();
    c->header_max =
        request->header_max_bytes ? request->header_max_bytes : HEADER_MAX_BYTES;
    c->host = strndup(url.host.p, url.host.n);
    c->easy = curl_easy_init();
    if (!c->host || !c->easy || !set_basics(c, request) || !set_way(c, h, &url)) {
        status = error_nomem(err);
        goto fail;
    }
    set_body(c->easy, request->body);
    status = set_headers(c, request, err);
    if (!status && curl_multi_add_handle(h->multi, c->easy) != CURLM_OK) {
        status = error_nomem(err);
    }
    if (status) {
        goto fail;
    }
    c->next = h->calls;
    h->calls = c;
    *out = c;
    return PI_OK;

fail:
    destroy_call(c);
    return status;
}

void http_close(struct http_call *c)
{
    if (!c) {
        return;
    }
    struct http_call **at = &c->http->calls;
    while (*at && *at != c) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = c->next;
    }
    curl_multi_remove_handle(c->http->multi, c->easy);
    destroy_call(c);
}

/* -- the end of a transfer -- */

static const struct {
    CURLcode rc;
    enum http_failure failure;
    const char *words; // "%s" is the host; NULL = curl's own words
} failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_RETRYABLE, "the name %s could not be looked up"},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_RETRYABLE,
     "the name of the proxy to %s could not be looked up"},
    {CURLE_COULDNT_CONNECT, HTTP_RETRYABLE, NULL},
    {CURLE_OPERATION_TIMEDOUT, HTTP_RETRYABLE, NULL},
    {CURLE_SSL_CONNECT_ERROR, HTTP_RETRYABLE, NULL},
    {CURLE_HTTP2, HTTP_RETRYABLE, NULL},
    {CURLE_HTTP2_STREAM, HTTP_RETRYABLE, NULL},
    {CURLE_PARTIAL_FILE, HTTP_RETRYABLE,
     "the connection to %s was cut in the middle of the answer"},
    {CURLE_GOT_NOTHING, HTTP_RETRYABLE, "%s closed the connection without an answer"},
    {CURLE_SEND_ERROR, HTTP_RETRYABLE, NULL},
    {CURLE_RECV_ERROR, HTTP_RETRYABLE, NULL},
    {CURLE_BAD_CONTENT_ENCODING, HTTP_RETRYABLE,
     "the compressed answer of %s is damaged"},
    {CURLE_PROXY, HTTP_RETRYABLE, NULL},
    {CURLE_WEIRD_SERVER_REPLY, HTTP_PERMANENT, "%s does not speak HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, HTTP_PERMANENT, "%s does not speak HTTP"},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_PERMANENT,
     "the certificate of %s is not trusted; if a proxy inspects TLS here, set "
     "SSL_CERT_FILE to the file with its CA certificate"},
    // So curl 7 reports a header line of more than 100 KiB as well.
    {CURLE_OUT_OF_MEMORY, HTTP_PERMANENT,
     "%s sent a header that is too long, or memory ran out"},
};

static const char *curls_words(const struct http_call *c, CURLcode rc)
{
    return c->words[0] ? c->words : curl_easy_strerror(rc);
}

static void describe(struct http_call *c, CURLcode rc)
{
    c->failure = HTTP_PERMANENT;
    const char *words = NULL;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (failures[i].rc == rc) {
            c->failure = failures[i].failure;
            words = failures[i].words;
        }
    }
    const char *host = words ? strstr(words, "%s") : NULL;
    if (host) {
        error_set(&c->error, PI_IO, "%.*s%s%s (%s)", (int)(host - words), words, c->host,
                  host + 2, curls_words(c, rc));
    } else {
        error_set(&c->error, PI_IO, "%s: %s", c->host, curls_words(c, rc));
    }
}

// A kept connection that the server has closed meanwhile breaks at its first use.
static bool was_reused(const struct http_call *c)
{
    long made = 1;
    curl_easy_getinfo(c->easy, CURLINFO_NUM_CONNECTS, &made);
    return made == 0 && c->header_bytes == 0;
}

// Only breaks in a row make HTTP/2 suspect.
static void note_version(struct http_call *c)
{
    long version = 0;
    curl_easy_getinfo(c->easy, CURLINFO_HTTP_VERSION, &version);
    if (version == CURL_HTTP_VERSION_2_0) {
        c->http->http2_failures = 0;
    }
}

static void end_call(struct http_call *c, CURLcode rc)
{
    c->over = true;
    if (rc == CURLE_OK) {
        note_version(c);
        return;
    }
    if (rc == CURLE_HTTP2 || rc == CURLE_HTTP2_STREAM) {
        c->http->http2_failures++;
    }
    if (c->error.code) { // a limit of ours
        c->failure = HTTP_PERMANENT;
        return;
    }
    describe(c, rc);
    if (c->failure == HTTP_RETRYABLE && was_reused(c)) {
        c->failure = HTTP_REUSED;
    }
}

static void end_idle(struct http_call *c)
{
    c->over = true;
    c->failure = HTTP_RETRYABLE;
    error_set(&c->error, PI_TIMEOUT, "%s sent nothing for %lld seconds", c->host,
              (long long)((c->idle_ms + 999) / 1000));
    curl_multi_remove_handle(c->http->multi, c->easy);
}

/* -- waiting -- */

static bool is_timed(const struct http_call *c)
{
    return !c->over && !c->paused && c->idle_ms > 0;
}

static void note_upload(struct http_call *c)
{
    curl_off_t sent = 0;
    curl_easy_getinfo(c->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (sent != c->sent) {
        c->sent = sent;
        c->last_ms = clock_mono_ms();
    }
}

static void end_idle_calls(struct http *h)
{
    for (struct http_call *c = h->calls; c; c = c->next) {
        if (!is_timed(c)) {
            continue;
        }
        note_upload(c);
        if (clock_mono_ms() - c->last_ms >= c->idle_ms) {
            end_idle(c);
        }
    }
}

static int64_t next_deadline(const struct http *h, int64_t timeout_ms)
{
    for (const struct http_call *c = h->calls; c; c = c->next) {
        if (is_timed(c)) {
            int64_t left = c->last_ms + c->idle_ms - clock_mono_ms();
            left = left > 0 ? left : 0;
            timeout_ms = left < timeout_ms ? left : timeout_ms;
        }
    }
    return timeout_ms;
}

static void perform(struct http *h)
{
    int running;
    int left;
    curl_multi_perform(h->multi, &running);
    for (CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
        for (struct http_call *c = h->calls; c; c = c->next) {
            if (m->msg == CURLMSG_DONE && c->easy == m->easy_handle && !c->over) {
                end_call(c, m->data.result);
                break;
            }
        }
    }
    end_idle_calls(h);
}

static bool any_running(const struct http *h)
{
    for (const struct http_call *c = h->calls; c; c = c->next) {
        if (!c->over) {
            return true;
        }
    }
    return false;
}

void http_wait(struct http *h, int fd, int timeout_ms)
{
    if (!any_running(h)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        poll(&p, 1, timeout_ms);
        return;
    }
    struct curl_waitfd extra = {.fd = fd, .events = CURL_WAIT_POLLIN};
    int64_t wait_ms = next_deadline(h, timeout_ms < 0 ? INT_MAX : timeout_ms);
    curl_multi_poll(h->multi, fd < 0 ? NULL : &extra, fd < 0 ? 0 : 1, (int)wait_ms, NULL);
    perform(h);
}

/* -- reading -- */

enum pi_status http_read(struct http_call *c, struct buf *out, struct pi_error *err)
{
    if (c->unread.len > 0) {
        buf_addsv(out, buf_sv(&c->unread));
        if (!buf_ok(out)) {
            return error_nomem(err);
        }
        buf_clear(&c->unread);
        if (c->paused) {
            c->paused = false;
            c->last_ms = clock_mono_ms();
            curl_easy_pause(c->easy, CURLPAUSE_CONT);
        }
        return PI_OK;
    }
    if (!c->over) {
        return PI_MORE;
    }
    if (c->failure == HTTP_FINE) {
        return PI_CLOSED;
    }
    return error_set(err, c->error.code, "%s", c->error.message);
}

int http_status(const struct http_call *c)
{
    long status = 0;
    if (c->headers_done) {
        curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    }
    return (int)status;
}

const char *http_header(struct http_call *c, const char *name)
{
    struct curl_header *header;
    CURLHcode rc = curl_easy_header(c->easy, name, 0, CURLH_HEADER, -1, &header);
    return rc == CURLHE_OK ? header->value : NULL;
}

enum http_failure http_failure(const struct http_call *c)
{
    return c->failure;
}
