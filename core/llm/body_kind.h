#pragma once

#include "base/sv.h"

/** What a body is, whatever its Content-Type claims. */
enum body_kind {
    BODY_UNKNOWN, // too little to tell
    BODY_EVENTS,  // server-sent events
    BODY_JSON,
    BODY_HTML,
    BODY_TEXT,
};

/**
 * Judges by the first bytes, and by the type (may be NULL) where they leave it open. Call
 * again with more bytes while it is BODY_UNKNOWN.
 */
enum body_kind body_kind_of(const char *content_type, struct sv start);
