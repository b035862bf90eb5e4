// The beginning of a line never says something else than the whole.

#include <stdint.h>
#include <stdlib.h>

#include "session/entry_head.h"

static int same(struct sv part, struct sv whole)
{
    return !part.p || (part.p == whole.p && part.n == whole.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct entry_head whole;
    if (size >= 1000 || entry_head_read(&whole, sv_make((const char *)data, size),
                                        false) != ENTRY_HEAD_OK) {
        return 0;
    }
    for (size_t n = 1; n < size; n++) {
        struct entry_head part;
        enum entry_head_result early =
            entry_head_read(&part, sv_make((const char *)data, n), true);
        // Blanks alone are no beginning yet. Once it says OK, there is no more to it.
        int began = part.type.p || part.id.p || part.parent_given || part.timestamp.p;
        if ((early == ENTRY_HEAD_BAD && began) ||
            (early == ENTRY_HEAD_OK &&
             (!same(part.type, whole.type) || !same(part.id, whole.id)))) {
            abort();
        }
    }
    return 0;
}
