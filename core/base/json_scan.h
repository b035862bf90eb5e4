#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/sv.h"

enum { JSON_DEPTH_MAX = 512, JSON_NUMBER_MAX = 60 };

/** Where and why a text is not JSON. */
struct json_fault {
    const char *what; // static
    size_t offset;    // bytes from the start of the text
};

/**
 * Checks that text is exactly one JSON value (RFC 8259; control characters inside strings
 * are let through, since models write them) and appends it to out with its strings
 * repaired; *repairs gets bits of enum json_repair. False fills *fault; false with
 * fault->what NULL means that memory ran out.
 */
bool json_scan(struct buf *out, struct sv text, unsigned *repairs,
               struct json_fault *fault) NODISCARD;
