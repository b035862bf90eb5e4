#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/map.h"
#include "base/sv.h"

/**
 * The ids of calls as a server wants them. Models and servers make ids of any length and
 * alphabet and repeat them; a request must not. The same calls in the same order always
 * get the same ids, so that the beginning of a request stays the same.
 */

enum call_id_rule {
    CALL_IDS_CHAT,      // the model's own printable ones, else as below; at most 40
    CALL_IDS_ANTHROPIC, // letters, digits, "_", "-"; at most 64
    CALL_IDS_MISTRAL,   // exactly nine letters and digits
    CALL_IDS_KEEP,      // the model's own ones exactly, even when they repeat
};

/** Zeroed but for the rule at the start of a request. */
struct call_ids {
    enum call_id_rule rule;
    struct map used;
};

void call_ids_finish(struct call_ids *ids);

/**
 * The id to send for the next call. own: the target model made it. The caller frees it;
 * NULL without memory.
 */
char *call_ids_next(struct call_ids *ids, struct sv id, bool own) NODISCARD;
