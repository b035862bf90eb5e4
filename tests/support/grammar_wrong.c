#include <stdint.h>

// A grammar for a version of the interface that no library takes. The version is the
// first member of the library's private struct.

static const uint32_t language[64] = {9999};

const void *tree_sitter_wrong(void);

__attribute__((visibility("default"))) const void *tree_sitter_wrong(void)
{
    return language;
}
