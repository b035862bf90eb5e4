#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_relaxed.h"

// Line ends stay where they are, relaxing twice changes nothing more, and what was JSON
// before is JSON afterwards.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sv text = sv_make((const char *)bytes, n);
    struct json *plain = NULL, *relaxed = NULL;
    char *once = malloc(n + 1), *twice = malloc(n + 1);
    if (!once || !twice) {
        goto out;
    }
    memcpy(once, bytes, n);
    json_relax(once, n);
    memcpy(twice, once, n);
    json_relax(twice, n);
    for (size_t i = 0; i < n; i++) {
        if (once[i] != twice[i] || (bytes[i] == '\n') != (once[i] == '\n')) {
            abort();
        }
    }
    bool was_json = json_parse(&plain, text, NULL, NULL) == PI_OK;
    bool is_json = json_parse_relaxed(&relaxed, text, NULL, NULL) == PI_OK;
    if (was_json && !is_json) {
        abort();
    }
out:
    json_destroy(plain);
    json_destroy(relaxed);
    free(once);
    free(twice);
    return 0;
}
