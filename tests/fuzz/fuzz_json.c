#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "text/utf8.h"

// What was accepted can be written and read again, and then nothing needs repair.

static void check_round(const struct json *j,
                        void (*write)(struct buf *, const struct json *))
{
    struct buf first = {0}, second = {0};
    struct json *again = NULL;
    unsigned repairs = 0;
    write(&first, j);
    if (!utf8_valid(buf_sv(&first)) || memchr(first.data, 0, first.len) ||
        json_parse(&again, buf_sv(&first), &repairs, NULL) != PI_OK || repairs) {
        abort();
    }
    write(&second, again);
    if (!sv_eq(buf_sv(&first), buf_sv(&second))) {
        abort();
    }
    json_destroy(again);
    buf_finish(&first);
    buf_finish(&second);
}

static void check_string(struct sv text)
{
    struct buf written = {0};
    struct json *j = NULL;
    unsigned repairs = 0;
    json_write_string(&written, text);
    if (json_parse(&j, buf_sv(&written), &repairs, NULL) != PI_OK ||
        (repairs & ~(unsigned)JSON_HAD_NUL)) {
        abort();
    }
    struct json *direct = json_new_string(text);
    if (strcmp(json_str(j), json_str(direct)) != 0) {
        abort();
    }
    json_destroy(direct);
    json_destroy(j);
    buf_finish(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv text = sv_make((const char *)data, size);
    struct json *j = NULL;
    check_string(text);
    if (json_parse(&j, text, NULL, NULL) != PI_OK) {
        return 0;
    }
    check_round(j, json_write);
    check_round(j, json_write_pretty);
    struct json *copy = json_copy(j);
    check_round(copy, json_write);
    json_destroy(copy);
    json_destroy(j);
    return 0;
}
