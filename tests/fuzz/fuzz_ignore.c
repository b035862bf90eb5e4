#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/ignore.h"

// The first line is a path, the rest are rules. Added at once or in two halves that end
// with a line, rules mean the same.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sv rest = sv_make((const char *)bytes, n);
    struct sv path;
    struct ignore_level whole = {0};
    struct ignore_level halves = {0};
    if (n > 4096 || memchr(bytes, '\0', n) || !sv_next_line(&rest, &path)) {
        return 0;
    }
    const char *lf = memchr(rest.p ? rest.p + rest.n / 2 : "", '\n', rest.n - rest.n / 2);
    size_t half = lf ? (size_t)(lf - rest.p) + 1 : 0;
    // A mark of UTF-8 counts at the start of each file.
    if (sv_starts(sv_from(rest, half), sv_of("\xEF\xBB\xBF"))) {
        half = 0;
    }
    bool ok = ignore_add(&whole, rest, NULL) == PI_OK &&
              ignore_add(&halves, sv_sub(rest, 0, half), NULL) == PI_OK &&
              ignore_add(&halves, sv_from(rest, half), NULL) == PI_OK;
    for (int folder = 0; ok && folder < 2; folder++) {
        if (ignore_check(&whole, path, folder) != ignore_check(&halves, path, folder)) {
            abort();
        }
    }
    ignore_finish(&whole);
    ignore_finish(&halves);
    return 0;
}
