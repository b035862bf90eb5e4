#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/json_prefix.h"

static void same_bytewise(const struct json_prefix *whole, struct sv text)
{
    struct json_prefix bytewise = {0};
    for (size_t i = 0; i < text.n; i++) {
        json_prefix_feed(&bytewise, sv_make(text.p + i, 1));
    }
    if (whole->bad != bytewise.bad || whole->offset != bytewise.offset ||
        whole->safe != bytewise.safe || whole->edge != bytewise.edge) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_prefix scan = {0};
    struct sv text = sv_make((const char *)data, size);
    struct buf closed = {0}, repaired = {0};
    struct json *j = NULL;
    json_prefix_feed(&scan, text);
    same_bytewise(&scan, text);
    // All that is JSON is a complete prefix; the reverse need not hold.
    if (json_parse(&j, text, NULL, NULL) == PI_OK && !json_prefix_complete(&scan)) {
        abort();
    }
    json_destroy(j);
    json_prefix_close(&scan, text, &closed);
    json_prefix_repair(&repaired, buf_sv(&closed));
    buf_finish(&closed);
    buf_finish(&repaired);
    return 0;
}
