#include "llm/arguments.h"

#include <ctype.h>
#include <string.h>

#include "base/json_prefix.h"
#include "base/json_scan.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct sv trim(struct sv text)
{
    while (text.n > 0 && is_space(*text.p)) {
        text = sv_from(text, 1);
    }
    while (text.n > 0 && is_space(text.p[text.n - 1])) {
        text.n--;
    }
    return text;
}

// The text between ```json and ```; the same text when there is no fence.
static struct sv without_fence(struct sv text)
{
    const struct sv fence = sv_of("```");
    if (!sv_starts(text, fence) || !sv_ends(text, fence) || text.n < 2 * fence.n) {
        return text;
    }
    text = sv_sub(text, fence.n, text.n - 2 * fence.n);
    while (text.n > 0 && isalnum((unsigned char)*text.p)) {
        text = sv_from(text, 1);
    }
    return trim(text);
}

// Appends text, which must not be empty, when it is JSON as it stands.
static enum pi_status add_json(struct buf *out, struct sv text, struct pi_error *err)
{
    unsigned repairs = 0;
    struct json_fault fault = {0};
    size_t before = out->len;
    bool valid = json_scan(out, text, &repairs, &fault);
    if (valid || !buf_ok(out) || !fault.what) {
        return valid ? PI_OK : error_nomem(err);
    }
    buf_truncate(out, before);
    return error_set(err, PI_INVALID, "%s (byte %zu)", fault.what, fault.offset);
}

// As add_json, with the insides of strings put right first.
static enum pi_status add_repaired(struct buf *out, struct sv text, struct pi_error *err)
{
    struct buf repaired = {0};
    json_prefix_repair(&repaired, text);
    enum pi_status status =
        buf_ok(&repaired) ? add_json(out, buf_sv(&repaired), err) : error_nomem(err);
    buf_finish(&repaired);
    return status;
}

static enum pi_status add_object(struct buf *out, struct sv text, struct pi_error *err)
{
    text = trim(text);
    if (text.n == 0) {
        buf_adds(out, "{}");
        return buf_ok(out) ? PI_OK : error_nomem(err);
    }
    text = without_fence(text);
    if (text.n == 0 || *text.p != '{') {
        return error_set(err, PI_INVALID, "not a JSON object");
    }
    return add_repaired(out, text, err);
}

// The object that was encoded a second time, as a string.
static enum pi_status add_decoded(struct buf *out, struct sv text, struct pi_error *err)
{
    struct buf repaired = {0};
    struct json *string = NULL;
    enum pi_status status = add_repaired(&repaired, text, err);
    if (!status) {
        status = json_parse(&string, buf_sv(&repaired), NULL, err);
    }
    if (!status) {
        struct sv inner = trim(sv_of(json_str(string)));
        status = inner.n > 0 ? add_object(out, inner, err)
                             : error_set(err, PI_INVALID, "an empty string");
    }
    json_destroy(string);
    buf_finish(&repaired);
    return status;
}

enum pi_status arguments_repair(struct buf *out, struct sv text, struct pi_error *err)
{
    struct sv inside = without_fence(trim(text));
    if (inside.n > 0 && *inside.p == '"') {
        return add_decoded(out, inside, err);
    }
    return add_object(out, text, err);
}

static bool is_object_already(struct sv text, bool *no_memory)
{
    struct buf scanned = {0};
    struct pi_error err = {0};
    struct sv trimmed = trim(text);
    bool ok = trimmed.n > 0 && *trimmed.p == '{';
    enum pi_status status = ok ? add_json(&scanned, text, &err) : PI_INVALID;
    buf_finish(&scanned);
    *no_memory = status == PI_NOMEM;
    return status == PI_OK;
}

enum pi_status arguments_end(struct block *b, struct pi_error *err)
{
    bool no_memory;
    b->complete = is_object_already(buf_sv(&b->text), &no_memory);
    if (b->complete || no_memory) {
        return b->complete ? PI_OK : error_nomem(err);
    }
    struct buf repaired = {0};
    enum pi_status status = arguments_repair(&repaired, buf_sv(&b->text), err);
    if (!status) {
        buf_finish(&b->text);
        b->text = repaired;
        b->complete = true;
        return PI_OK;
    }
    buf_finish(&repaired);
    return status == PI_NOMEM ? status : PI_OK;
}
