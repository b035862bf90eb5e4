#include <stdint.h>
#include <stdlib.h>

#include "output.h"
#include "text/utf8.h"

// The first byte gives the size of the pieces. However the output is cut, the result and
// what is shown are the same plain text, and the result keeps its limits.

static void show(void *data, struct sv text)
{
    if (!utf8_valid(text)) {
        abort();
    }
    buf_addsv(data, text);
}

static void run(struct buf *result, struct sv in, size_t step)
{
    struct output o;
    struct buf shown = {0};
    struct json *details = NULL;
    // No log can be made there.
    if (output_init(&o, "/dev/null", show, &shown, NULL) != PI_OK) {
        abort();
    }
    while (in.n > 0) {
        struct sv piece = sv_make(in.p, in.n < step ? in.n : step);
        output_feed(&o, piece);
        in = sv_from(in, piece.n);
    }
    if (output_end(&o, false, result, &details, NULL) != PI_OK ||
        !utf8_valid(buf_sv(result)) || result->len > TRUNCATE_MAX_BYTES + 512) {
        abort();
    }
    json_destroy(details);
    buf_finish(&shown);
    output_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct sv in = sv_make((const char *)data + 1, size - 1);
    struct buf whole = {0};
    struct buf pieces = {0};
    run(&whole, in, size);
    run(&pieces, in, (size_t)data[0] + 1);
    if (!sv_eq(buf_sv(&whole), buf_sv(&pieces))) {
        abort();
    }
    buf_finish(&whole);
    buf_finish(&pieces);
    return 0;
}
