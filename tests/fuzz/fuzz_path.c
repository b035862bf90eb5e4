#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/path.h"

// The first half of the input is the folder, the rest the name.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *dir = strndup((const char *)bytes, n / 2);
    char *name = strndup((const char *)bytes + n / 2, n - n / 2);
    char *joined = dir && name ? path_join(dir, name) : NULL;
    char *again = joined ? path_join("", joined) : NULL;
    if (again) {
        size_t len = strlen(joined);
        bool absolute = name[0] == '/' || dir[0] == '/';
        if (strcmp(joined, again) != 0 || strstr(joined, "//") || strstr(joined, "/./") ||
            (joined[0] == '/') != absolute || (len > 1 && joined[len - 1] == '/') ||
            (absolute && strstr(joined, "/../")) ||
            (absolute && !path_inside(joined, "/")) || !path_inside(joined, joined)) {
            abort();
        }
    }
    free(again);
    free(joined);
    free(name);
    free(dir);
    return 0;
}
