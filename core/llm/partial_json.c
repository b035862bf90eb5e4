#include "llm/partial_json.h"

#include "base/json_prefix.h"

enum pi_status partial_json(struct json **out, bool *complete, struct sv text,
                            struct pi_error *err)
{
    struct json_prefix scan = {0};
    struct buf closed = {0}, repaired = {0};
    struct json *tree = NULL;
    json_prefix_feed(&scan, text);
    json_prefix_close(&scan, text, &closed);
    json_prefix_repair(&repaired, buf_sv(&closed));
    bool ok = buf_ok(&closed) && buf_ok(&repaired) &&
              json_parse(&tree, buf_sv(&repaired), NULL, NULL) != PI_NOMEM;
    if (ok && !tree) {
        tree = json_new_object();
    }
    buf_finish(&closed);
    buf_finish(&repaired);
    if (!ok || !tree) {
        return error_nomem(err);
    }
    *complete = json_prefix_complete(&scan);
    *out = tree;
    return PI_OK;
}
