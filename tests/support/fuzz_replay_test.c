// A fuzz target for the test of the replay driver: says how long its input was.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    (void)bytes;
    printf("input of %zu bytes\n", len);
    return 0;
}
