#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "llm/partial_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json *j = NULL;
    bool complete = false;
    if (partial_json(&j, &complete, sv_make((const char *)data, size), NULL) != PI_OK) {
        abort();
    }
    json_destroy(j);
    return 0;
}
