#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tool/validate.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100},"
    "\"all\":{\"type\":[\"boolean\",\"null\"]},"
    "\"mode\":{\"enum\":[\"a\",\"b\"]},"
    "\"either\":{\"anyOf\":[{\"type\":\"number\"},{\"type\":\"array\","
    "\"items\":{\"type\":\"object\"}}]},"
    "\"edits\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\","
    "\"properties\":{\"oldText\":{\"type\":\"string\"}},\"required\":[\"oldText\"],"
    "\"additionalProperties\":false}}},\"required\":[\"path\"]}";

// What was accepted once is accepted again, unchanged.
static void check(struct json **args, const struct json *schema)
{
    struct buf problems = {0}, before = {0}, after = {0};
    if (validate_arguments(args, schema, "tool", &problems) == PI_OK) {
        json_write(&before, *args);
        if (validate_arguments(args, schema, "tool", &problems) != PI_OK) {
            abort();
        }
        json_write(&after, *args);
        if (!sv_eq(buf_sv(&before), buf_sv(&after))) {
            abort();
        }
    } else if (problems.len == 0) {
        abort();
    }
    buf_finish(&problems);
    buf_finish(&before);
    buf_finish(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json *args = NULL, *schema = NULL;
    struct pi_error err = {0};
    if (json_parse(&schema, sv_of(schema_text), NULL, NULL)) {
        abort();
    }
    enum pi_status status =
        validate_parse(&args, NULL, "tool", sv_make((const char *)data, size), &err);
    if (status == PI_OK) {
        check(&args, schema);
    } else if (args || err.message[0] == '\0') {
        abort();
    }
    json_destroy(args);
    json_destroy(schema);
    return 0;
}
