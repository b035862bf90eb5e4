#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "net/sse.h"

static bool collect(void *data, const struct sse_event *event)
{
    buf_addsv(data, event->name);
    buf_addc(data, '|');
    buf_addsv(data, event->data);
    buf_addc(data, '\n');
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// Whole and byte by byte must give the same events.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf whole = {0};
    struct buf split = {0};
    struct sse a = {0};
    struct sse b = {0};
    bool ok =
        sse_feed(&a, sv_make((const char *)bytes, n), collect, &whole, NULL) == PI_OK;
    for (size_t i = 0; i < n; i++) {
        ok = sse_feed(&b, sv_make((const char *)bytes + i, 1), collect, &split, NULL) ==
                 PI_OK &&
             ok;
    }
    sse_end(&a, collect, &whole);
    sse_end(&b, collect, &split);
    if (ok && !sv_eq(buf_sv(&whole), buf_sv(&split))) {
        abort();
    }
    sse_finish(&a);
    sse_finish(&b);
    buf_finish(&whole);
    buf_finish(&split);
    return 0;
}
