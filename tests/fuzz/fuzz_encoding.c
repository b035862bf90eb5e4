#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "host/encoding.h"

// Six bytes make two changes, some bytes are their texts, the rest is the file.
enum { HEAD = 6 };

static void check(bool ok)
{
    if (!ok) {
        abort();
    }
}

static int by_value(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void make_changes(struct host_change c[2], const uint8_t *head, struct sv *rest,
                         size_t text_len)
{
    size_t at[4];
    for (int i = 0; i < 4; i++) {
        at[i] = head[i] % (text_len + 1);
    }
    qsort(at, 4, sizeof *at, by_value);
    for (int i = 0; i < 2; i++) {
        c[i] = (struct host_change){at[2 * i], at[2 * i + 1] - at[2 * i], *rest};
        size_t n = head[4 + i] % 8;
        c[i].text.n = n < rest->n ? n : rest->n;
        *rest = sv_from(*rest, c[i].text.n);
    }
}

// The new bytes must say what the changed text says, and nothing else may differ.
static void check_result(const struct encoded *e, const struct host_snapshot *s,
                         const struct host_change *changes)
{
    struct buf bytes = {0}, text = {0}, decoded = {0};
    check(host_changed_text(&bytes, e->old, e->changes, e->len) == PI_OK);
    check(host_changed_text(&text, buf_sv(&s->text), changes, 2) == PI_OK);
    if (s->encoding == HOST_BYTES) {
        check(sv_eq(buf_sv(&bytes), buf_sv(&text)));
    } else {
        check(encoding_decode(&decoded, s->encoding, buf_sv(&bytes), NULL) == PI_OK);
        check(sv_starts(buf_sv(&decoded), sv_of("\xEF\xBB\xBF")));
        check(changes[0].offset < 3 || sv_eq(buf_sv(&decoded), buf_sv(&text)));
    }
    buf_finish(&bytes);
    buf_finish(&text);
    buf_finish(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < HEAD) {
        return 0;
    }
    struct sv rest = sv_make((const char *)bytes + HEAD, n - HEAD);
    struct host_change changes[2];
    struct host_snapshot s = {0};
    struct encoded e = {0};
    make_changes(changes, bytes, &rest, 0); // only to know where the file begins
    s.encoding = encoding_of(rest);
    if (s.encoding == HOST_BYTES) {
        buf_addsv(&s.text, rest);
    } else if (encoding_decode(&s.text, s.encoding, rest, NULL) != PI_OK) {
        host_snapshot_finish(&s);
        return 0;
    }
    struct sv file = rest;
    rest = sv_make((const char *)bytes + HEAD, n - HEAD);
    make_changes(changes, bytes, &rest, s.text.len);
    if (encoded_init(&e, &s, changes, 2, NULL) == PI_OK) {
        check(sv_eq(e.old, file));
        check_result(&e, &s, changes);
    }
    encoded_finish(&e);
    host_snapshot_finish(&s);
    return 0;
}
