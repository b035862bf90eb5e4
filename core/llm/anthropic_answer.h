#pragma once

#include "llm/wire.h"

/** Decoding of Anthropic Messages: the functions of wire_anthropic. */

enum pi_status anthropic_begin(struct wire_answer **out, const struct wire_input *input,
                               struct message *message, struct pi_error *err) NODISCARD;
enum pi_status anthropic_decode(struct wire_answer *a, struct sv name, struct sv data,
                                struct pi_error *err) NODISCARD;
enum pi_status anthropic_end(struct wire_answer *a, struct pi_error *err) NODISCARD;
void anthropic_finish(struct wire_answer *a);
