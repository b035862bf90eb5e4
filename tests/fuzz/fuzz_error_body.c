#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "llm/body_kind.h"
#include "llm/error_body.h"
#include "llm/retry.h"

// The words are one short line whatever the body is, and can be judged.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct error_body b = {0};
    struct sv body = sv_make((const char *)bytes, n);
    error_body_read(&b, body);
    for (size_t i = 0; i < b.words.len; i++) {
        if ((unsigned char)b.words.data[i] < ' ') {
            abort();
        }
    }
    if (b.words.len > 16 * 1024 || b.retry_after_ms < 0) {
        abort();
    }
    struct buf copy = {0};
    buf_addsv(&copy, body);
    body_kind_of(buf_cstr(&copy), body);
    retry_judge(&(struct retry_evidence){.status = 429,
                                         .words = buf_sv(&b.words),
                                         .kind = buf_sv(&b.kind),
                                         .retry_after = buf_cstr(&copy),
                                         .retry_after_ms = buf_cstr(&copy)});
    buf_finish(&copy);
    error_body_finish(&b);
    return 0;
}
