#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm/auth_names.h"

static void see(void *data, const char *name, const char *value)
{
    (void)data;
    if (strcmp(name, "MINE") != 0 || strcmp(value, "m") != 0) {
        abort();
    }
}

// A file that is skimmed for names of variables may be anything.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static char variable[] = "MINE=m";
    static char *list[] = {variable, NULL};
    const struct env env = {.vars = list, .len = 1};
    auth_visit_named(&env, sv_make((const char *)bytes, n), see, NULL);
    return 0;
}
