#include "llm/wire_build.h"

#include <string.h>
#include <strings.h>

#include "llm/estimate.h"

enum { USUAL_MAX_TOKENS = 32000, UNKNOWN_MAX_TOKENS = 16384, LEAST_MAX_TOKENS = 1024 };

/* -- addresses -- */

// Behind "http://" or "https://"; NULL when there is neither.
static const char *behind_scheme(const char *base)
{
    if (base && strncasecmp(base, "https://", 8) == 0) {
        return base + 8;
    }
    return base && strncasecmp(base, "http://", 7) == 0 ? base + 7 : NULL;
}

static bool has_blank(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text <= 0x20 || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

enum pi_status wire_url(struct buf *out, const char *base, enum wire_version version,
                        const char *path, struct pi_error *err)
{
    const char *host = behind_scheme(base);
    if (!host || strcspn(host, "/?#") == 0 || has_blank(base)) {
        return error_set(
            err, PI_INVALID,
            "the base URL \"%.200s\" does not begin with http:// or https:// and a host",
            base ? base : "");
    }
    struct sv rest = sv_make(base, strcspn(base, "?#"));
    struct sv query = sv_make(base + rest.n, strcspn(base + rest.n, "#"));
    while (rest.p[rest.n - 1] == '/') {
        rest.n--;
    }
    bool whole = sv_ends(rest, sv_of(path));
    bool alone = !memchr(host, '/', (size_t)(rest.p + rest.n - host));
    bool versioned = sv_ends(rest, sv_of("/v1"));
    buf_addsv(out, rest);
    if (!whole && !versioned && (alone || version == WIRE_VERSION_ALWAYS)) {
        buf_adds(out, "/v1");
    }
    buf_adds(out, whole ? "" : path);
    buf_addsv(out, query);
    return buf_ok(out) ? PI_OK : error_nomem(err);
}

bool wire_is_host(const char *base, const char *host)
{
    const char *found = behind_scheme(base);
    if (!found) {
        return false;
    }
    size_t n = strcspn(found, "/?#:"), want = strlen(host);
    return n >= want && strncasecmp(found + n - want, host, want) == 0 &&
           (n == want || found[n - want - 1] == '.');
}

/* -- headers -- */

enum pi_status wire_header(struct buf *out, const char *name, const char *value,
                           struct pi_error *err)
{
    for (const char *p = value; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            return error_set(
                err, PI_INVALID,
                "the value for the header \"%s\" (the API key?) holds a line "
                "break or another control character",
                name);
        }
    }
    buf_addf(out, "%s%s: %s", out->len > 0 ? "\n" : "", name, value);
    return buf_ok(out) ? PI_OK : error_nomem(err);
}

enum pi_status wire_bearer(struct buf *out, const char *key, struct pi_error *err)
{
    struct buf value = {0};
    buf_addf(&value, "Bearer %s", key);
    enum pi_status status = buf_ok(&value)
                                ? wire_header(out, "authorization", buf_cstr(&value), err)
                                : error_nomem(err);
    buf_finish(&value);
    return status;
}

/* -- tokens -- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t wire_max_tokens(const struct wire_input *input, int64_t extra)
{
    const struct model *m = input->model;
    int64_t max = m->max_tokens > 0 ? m->max_tokens : UNKNOWN_MAX_TOKENS;
    max = least(least(max, USUAL_MAX_TOKENS) + extra, max);
    if (m->context_window > 0) {
        int64_t left = m->context_window - estimate_at_most(input->request);
        max = least(max, left > LEAST_MAX_TOKENS ? left : LEAST_MAX_TOKENS);
    }
    int64_t limit = input->tuning.max_tokens;
    return limit > 0 ? least(max, limit) : max;
}
