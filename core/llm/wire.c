#include "llm/wire.h"

void wire_request_finish(struct wire_request *r)
{
    if (!r) {
        return;
    }
    buf_finish(&r->url);
    buf_finish(&r->headers);
    buf_finish(&r->body);
}
