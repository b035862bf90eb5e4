#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/sv.h"
#include "host/host.h"

/**
 * The encodings of files: which one, and how changes of the text become changes of the
 * file's bytes. Pure.
 */

/** By the byte order mark: UTF-16, or bytes that are taken as they are. */
enum host_encoding encoding_of(struct sv bytes);

/** Appends UTF-16 as UTF-8, mark included. PI_UNSUPPORTED when it is not well-formed. */
enum pi_status encoding_decode(struct buf *out, enum host_encoding encoding,
                               struct sv bytes, struct pi_error *err) NODISCARD;

/** Appends UTF-8, which must be valid, as UTF-16. */
void encoding_encode(struct buf *out, enum host_encoding encoding, struct sv text);

/** PI_INVALID: changes out of order or range, or inside a character of text. */
enum pi_status encoding_check(struct sv text, const struct host_change *changes,
                              size_t len, struct pi_error *err) NODISCARD;

/**
 * Changes of a text as changes of the file's bytes. For HOST_BYTES old and the changes
 * are borrowed from the input, which must outlive it. A zeroed struct is empty.
 */
struct encoded {
    struct sv old;
    const struct host_change *changes;
    size_t len;
    struct buf memory, texts;
    struct host_change *own;
};

/** PI_INVALID as encoding_check, and for text that the file's encoding cannot hold. */
enum pi_status encoded_init(struct encoded *e, const struct host_snapshot *snapshot,
                            const struct host_change *changes, size_t len,
                            struct pi_error *err) NODISCARD;
void encoded_finish(struct encoded *e);
