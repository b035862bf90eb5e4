#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/sv.h"

/**
 * What the program itself needs to know of a URL: whose it is, where it leads, and how to
 * show it to people without the secrets that it may hold.
 */
struct url {
    struct sv scheme;
    struct sv host; // without user, port and brackets
    struct sv port; // digits, or empty
    struct sv path; // without query and fragment
};

/** Slices of text; false when it has no scheme or no host. */
bool url_parse(struct url *out, struct sv text);

/** Appends scheme, host, port and path: no user, password, query or fragment. What cannot
 * be parsed is "(not a URL)". */
void url_show(struct buf *out, struct sv text);

enum url_reach {
    URL_LOOPBACK, // this machine
    URL_PRIVATE,  // a network of one's own
    URL_PUBLIC,
};

/** How far away the host is, by its name or address alone. */
enum url_reach url_reach(struct sv host);
