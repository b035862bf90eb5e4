#include "sys/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/path.h"

// The folder of the file this code was loaded from. For the main program dladdr gives
// argv[0], which may be a bare name, so there the kernel is asked.
char *program_folder(void)
{
    Dl_info info;
    char path[PATH_MAX];
    char *real = NULL;
    static const char here; // an address in this object
    if (dladdr(&here, &info) && info.dli_fname && strstr(info.dli_fname, ".so")) {
        real = realpath(info.dli_fname, NULL);
    } else {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        real = n > 0 ? strndup(path, (size_t)n) : NULL;
    }
    char *dir = real ? path_dir(real) : NULL;
    free(real);
    return dir;
}

enum pi_status program_find(char **out, const char *name, struct pi_error *err)
{
    static const char *const places[] = {"../libexec/pi/", "../../libexec/pi/",
                                         "../tools/"};
    char *dir = program_folder();
    struct buf tried = {0};
    *out = NULL;
    for (size_t i = 0; dir && i < sizeof places / sizeof *places && !*out; i++) {
        struct buf relative = {0};
        buf_adds(&relative, places[i]);
        buf_adds(&relative, name);
        char *path = buf_ok(&relative) ? path_join(dir, buf_cstr(&relative)) : NULL;
        buf_finish(&relative);
        if (path && access(path, X_OK) == 0) {
            *out = path;
        } else {
            buf_addf(&tried, "%s%s", i ? ", " : "", path ? path : "?");
            free(path);
        }
    }
    enum pi_status status = PI_OK;
    if (!*out) {
        status = error_set(err, PI_NOT_FOUND, "%s was not found; looked for %s", name,
                           buf_cstr(&tried));
    }
    free(dir);
    buf_finish(&tried);
    return status;
}

enum pi_status program_new_id(char out[37], struct pi_error *err)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) {
        return error_errno(err, errno, "no random bytes for an identifier");
    }
    uint64_t now = (uint64_t)clock_unix_ms();
    for (int i = 0; i < 6; i++) {
        b[i] = (unsigned char)(now >> (40 - 8 * i));
    }
    b[6] = (unsigned char)(0x70 | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    size_t at = 0;
    for (size_t i = 0; i < sizeof b; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[at++] = '-';
        }
        at += (size_t)snprintf(out + at, 37 - at, "%02x", b[i]);
    }
    return PI_OK;
}
