#include "session/lock_owner.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sv.h"
#include "sys/file.h"

enum { LIST_MAX = 4 * 1024 * 1024 };

// "12: FLOCK  ADVISORY  WRITE 4711 08:01:393 0 EOF"; one that waits has "->" before
// FLOCK.
static long owner_in(const char *line, unsigned long long inode)
{
    const char *kind = strstr(line, ": FLOCK ");
    const char *write = kind ? strstr(kind, " WRITE ") : NULL;
    if (!write) {
        return 0;
    }
    char *at;
    long pid = strtol(write + strlen(" WRITE "), &at, 10);
    // The device as the kernel names it differs from stat's on some file systems, so the
    // inode decides.
    const char *colon = strchr(at, ':');
    colon = colon ? strchr(colon + 1, ':') : NULL;
    return colon && strtoull(colon + 1, NULL, 10) == inode && pid > 0 ? pid : 0;
}

long lock_owner(const struct stat *file)
{
    struct buf list = {0};
    long pid = 0;
    if (file_load(&list, "/proc/locks", LIST_MAX, NULL) == PI_OK) {
        struct sv rest = buf_sv(&list);
        struct sv line;
        while (pid == 0 && sv_next_line(&rest, &line)) {
            char *end = list.data + (line.p - list.data) + line.n;
            *end = '\0'; // the LF, or the NUL of the buffer
            pid = owner_in(line.p, file->st_ino);
        }
    }
    buf_finish(&list);
    return pid;
}
