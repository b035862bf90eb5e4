#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.h"

// What is shown holds nothing of a query, and parses as the same place.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct url u;
    struct buf shown = {0};
    struct sv text = sv_make((const char *)bytes, n);
    if (url_parse(&u, text)) {
        url_reach(u.host);
        url_show(&shown, text);
        if (shown.len > n ||
            memchr(shown.data + u.scheme.n, '?', shown.len - u.scheme.n)) {
            abort();
        }
    }
    buf_finish(&shown);
    return 0;
}
