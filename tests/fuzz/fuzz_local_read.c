#include <stdint.h>
#include <stdlib.h>

#include "llm/local_read.h"

// What a server says of its models: any answer to any question.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sv all = sv_make((const char *)bytes, n);
    // The first line is the list, the rest another answer.
    struct sv first = {0}, rest = all;
    sv_next_line(&rest, &first);
    struct json *list = json_new_array();
    bool ollama;
    if (!local_read_models(list, first) || !local_read_props(list, rest) ||
        !local_read_ps(list, rest, &ollama) || !local_read_studio(list, rest)) {
        abort();
    }
    for (struct json *m = json_first(list); m; m = json_next(m)) {
        if (!json_get_str(m, "id") || !local_read_show(m, rest)) {
            abort();
        }
    }
    if (!local_finish(&list)) {
        abort();
    }
    json_destroy(list);
    return 0;
}
