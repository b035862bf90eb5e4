#pragma once

#include "llm/wire.h"

/** Decoding of Chat Completions: the functions of wire_openai_chat. */

enum pi_status openai_begin(struct wire_answer **out, const struct wire_input *input,
                            struct message *message, struct pi_error *err) NODISCARD;
enum pi_status openai_decode(struct wire_answer *a, struct sv name, struct sv data,
                             struct pi_error *err) NODISCARD;
enum pi_status openai_end(struct wire_answer *a, struct pi_error *err) NODISCARD;
void openai_finish(struct wire_answer *a);
