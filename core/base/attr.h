#pragma once

// Function attributes that let the compiler check what the contracts say.

#define NODISCARD __attribute__((warn_unused_result))
#define PRINTF(text, first) __attribute__((format(printf, text, first)))
#define UNUSED __attribute__((unused))
