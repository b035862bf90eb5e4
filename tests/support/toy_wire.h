#pragma once

#include "llm/wire.h"

/**
 * A wire format for tests: POST {base_url}/answer with the key in the header x-key. The
 * data of each event is one word, then its argument:
 *
 *     text WORDS          more text
 *     fail STATUS WORDS   an error inside the stream
 *     end                 the answer is complete, more may follow
 *     over                the answer is complete, nothing follows
 *
 * Anything else is ignored. A JSON document {"answer":"WORDS"} is a whole answer.
 */
extern const struct wire wire_toy;
