#include <stdint.h>

#include "wire_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    return wire_fuzz(&wire_anthropic, bytes, n);
}
