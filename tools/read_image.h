#pragma once

#include "base/error.h"
#include "base/sv.h"
#include "tool/tool.h"

/**
 * The result of reading an image: a text that names it, and the image unless it had to be
 * left out. file: its first IMAGE_FILE_MAX + 1 bytes or all of it; file_bytes: its size.
 */
enum pi_status read_image_write(struct tool_result *result, const struct tool_call *call,
                                struct sv file, unsigned long long file_bytes,
                                struct pi_error *err) NODISCARD;
