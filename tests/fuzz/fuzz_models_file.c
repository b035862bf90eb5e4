#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_relaxed.h"
#include "llm/model_copy.h"
#include "llm/models_file.h"

// A file of models: whatever is in it, each mistake has a line that the file has, and
// what is read of a model can be shown.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct sv text = sv_make((const char *)bytes, n);
    struct buf problems = {0};
    struct json *root = NULL;
    if (json_parse_relaxed(&root, text, NULL, NULL) != PI_OK) {
        return 0;
    }
    size_t lines = 1;
    for (size_t i = 0; i < n; i++) {
        lines += bytes[i] == '\n';
    }
    models_file_check(&problems, &(struct models_text){.path = "f", .text = text}, root,
                      NULL);
    struct sv line, rest = buf_sv(&problems);
    while (sv_next_line(&rest, &line)) {
        static const char start[] = "f: line ";
        if (sv_starts(line, sv_of(start)) &&
            strtoul(line.p + strlen(start), NULL, 10) > lines) {
            abort();
        }
    }
    const struct json *p = json_first(json_get(root, "providers"));
    for (; p; p = json_next(p)) {
        struct provider_spec spec;
        provider_spec_read(&spec, p);
        for (const struct json *m = json_first(spec.models); m; m = json_next(m)) {
            struct model model = {.provider = json_key(p)};
            model_spec_read(&model, m);
            if (model_spec_id(m) && !model.id) {
                abort();
            }
            json_destroy(model_json(&model));
        }
    }
    json_destroy(root);
    buf_finish(&problems);
    return 0;
}
