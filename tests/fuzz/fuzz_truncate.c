#include <stdint.h>
#include <stdlib.h>

#include "text/truncate.h"
#include "text/utf8.h"

// The first two bytes give the limits.

static void check(struct truncation t, struct sv text, size_t max_lines, size_t max_bytes)
{
    if (t.kept.n > max_bytes || t.kept_lines > max_lines ||
        t.kept_lines > t.total_lines || t.total_bytes != text.n) {
        abort();
    }
    if (!t.truncated && t.kept.n + 1 < text.n) {
        abort();
    }
    if (utf8_valid(text) && !utf8_valid(t.kept)) {
        abort();
    }
    size_t lines = 0;
    struct sv rest = t.kept, line;
    while (sv_next_line(&rest, &line)) {
        lines++;
    }
    // The kept text lacks its last LF, so a last line may be empty.
    if (lines > t.kept_lines || lines + 1 < t.kept_lines) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct sv text = sv_make((const char *)data + 2, size - 2);
    size_t max_lines = data[0] % 32, max_bytes = data[1];
    check(truncate_head(text, max_lines, max_bytes), text, max_lines, max_bytes);
    check(truncate_tail(text, max_lines, max_bytes), text, max_lines, max_bytes);
    return 0;
}
