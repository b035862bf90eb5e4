#include <stdint.h>
#include <stdlib.h>

#include "llm/arguments.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

// What comes out is an object that needs no further repair.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf once = {0}, twice = {0};
    struct json *tree = NULL;
    unsigned repairs = 0;
    if (arguments_repair(&once, sv_make((const char *)bytes, n), NULL) == PI_OK) {
        if (json_parse(&tree, buf_sv(&once), &repairs, NULL) != PI_OK || repairs ||
            json_type(tree) != JSON_OBJECT ||
            arguments_repair(&twice, buf_sv(&once), NULL) != PI_OK ||
            !sv_eq(buf_sv(&once), buf_sv(&twice))) {
            abort();
        }
    } else if (once.len > 0) {
        abort();
    }
    json_destroy(tree);
    buf_finish(&once);
    buf_finish(&twice);
    return 0;
}
