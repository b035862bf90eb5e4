#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"

/** The headers of a request as HTTP takes them. A zeroed struct is empty. */
struct header_list {
    struct buf text;    // the lines, a NUL after each
    const char **lines; // into text; NULL-terminated
};

/**
 * Joins the lines of a wire format ("Name: value", LF between them) and the model's own
 * headers (object of strings, or NULL): those win over lines of the same name. False
 * without memory.
 */
bool header_list_build(struct header_list *out, struct sv format,
                       const struct json *own) NODISCARD;

void header_list_finish(struct header_list *l);
