#include "llm/call_ids.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { MISTRAL_LENGTH = 9 };

void call_ids_finish(struct call_ids *ids)
{
    map_finish(&ids->used);
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_plain(char c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

static bool is_printable(char c)
{
    return c > 0x20 && c < 0x7f;
}

static size_t max_length(enum call_id_rule rule)
{
    return rule == CALL_IDS_ANTHROPIC ? 64 : rule == CALL_IDS_CHAT ? 40 : SIZE_MAX;
}

// Another format packs two ids into one, with a bar between them; the first one is the
// call's.
static struct sv before_bar(struct sv id)
{
    const char *bar = id.n > 0 ? memchr(id.p, '|', id.n) : NULL;
    return bar && bar > id.p ? sv_make(id.p, (size_t)(bar - id.p)) : id;
}

static void add_plain(struct buf *out, struct sv id, bool (*fits)(char))
{
    for (size_t i = 0; i < id.n; i++) {
        buf_addc(out, fits(id.p[i]) ? id.p[i] : '_');
    }
}

static bool is_mistral(struct sv id)
{
    size_t i = 0;
    while (i < id.n && is_alnum(id.p[i])) {
        i++;
    }
    return id.n == MISTRAL_LENGTH && i == id.n;
}

// Nine digits of base 62 from the id and the number of the try.
static void add_hash(struct buf *out, struct sv id, unsigned try)
{
    static const char digits[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t h = 14695981039346656037u + try;
    for (size_t i = 0; i < id.n; i++) {
        h = (h ^ (unsigned char)id.p[i]) * 1099511628211u;
    }
    for (int i = 0; i < MISTRAL_LENGTH; i++) {
        buf_addc(out, digits[h % 62]);
        h /= 62;
    }
}

// The candidate number `try` (from 1) for an id.
static void add_candidate(struct buf *out, const struct call_ids *ids, struct sv id,
                          bool own, unsigned try)
{
    if (ids->rule == CALL_IDS_MISTRAL) {
        if (try == 1 && is_mistral(id)) {
            buf_addsv(out, id);
        } else {
            add_hash(out, id, try);
        }
        return;
    }
    if (id.n == 0) {
        id = sv_of("call");
    }
    bool as_is = own && ids->rule != CALL_IDS_ANTHROPIC;
    add_plain(out, as_is ? id : before_bar(id), as_is ? is_printable : is_plain);
    struct buf suffix = {0};
    if (try > 1) {
        buf_addf(&suffix, "_%u", try);
    }
    size_t max = max_length(ids->rule) - suffix.len;
    buf_truncate(out, out->len < max ? out->len : max);
    buf_addsv(out, buf_sv(&suffix));
    out->failed = out->failed || !buf_ok(&suffix);
    buf_finish(&suffix);
}

char *call_ids_next(struct call_ids *ids, struct sv id, bool own)
{
    struct buf out = {0};
    if (ids->rule == CALL_IDS_KEEP && own && id.n > 0) {
        buf_addsv(&out, id);
        return buf_take(&out);
    }
    for (unsigned try = 1;; try++) {
        buf_clear(&out);
        add_candidate(&out, ids, id, own, try);
        if (!buf_ok(&out)) {
            break;
        }
        if (map_get(&ids->used, buf_sv(&out))) {
            continue;
        }
        if (!map_set(&ids->used, buf_sv(&out), ids)) {
            break;
        }
        return buf_take(&out);
    }
    buf_finish(&out);
    return NULL;
}
